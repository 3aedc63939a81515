//! Other hosts: login strings, files sent there and brought back, commands for their shell.
