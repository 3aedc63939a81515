#!/bin/sh
# Builds the part in C: build.sh [FOLDER], into build/ unless told otherwise.  It needs a C compiler, the C
# client beside this folder ($WHIT_LOG_C) and Node's headers: those beside node, or of $NODE_INCLUDE.
set -eu
cd "$(dirname "$0")"
to=${1:-build}
client=${WHIT_LOG_C:-../c}
headers=${NODE_INCLUDE:-$(node -p 'require("path").resolve(process.execPath, "../../include/node")')}
if [ ! -e "$headers/node_api.h" ]; then
    echo "whit-log: no node_api.h in $headers: set NODE_INCLUDE to the folder with Node's headers" >&2
    exit 1
fi
mkdir -p "$to"
# Threads of the C client may outlive a worker of Node: the code stays.
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -pthread -Wl,-z,nodelete -I"$headers" -I"$client/include" \
    -o "$to/whit_log.node" whit_log_node.c "$client/src/whit_log.c" -lm
