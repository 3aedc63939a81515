//! Names of `io_uring`'s parameters, from `linux/io_uring.h`.

use super::{Flags, names};

/// How a ring is set up.
#[rustfmt::skip]
pub(crate) static SETUP: Flags = Flags { unknown: "IORING_SETUP_???", names: names![
    (1, "IORING_SETUP_IOPOLL"), (2, "IORING_SETUP_SQPOLL"), (4, "IORING_SETUP_SQ_AFF"),
    (8, "IORING_SETUP_CQSIZE"), (0x10, "IORING_SETUP_CLAMP"), (0x20, "IORING_SETUP_ATTACH_WQ"),
    (0x40, "IORING_SETUP_R_DISABLED"), (0x80, "IORING_SETUP_SUBMIT_ALL"),
    (0x100, "IORING_SETUP_COOP_TASKRUN"), (0x200, "IORING_SETUP_TASKRUN_FLAG"),
    (0x400, "IORING_SETUP_SQE128"), (0x800, "IORING_SETUP_CQE32"),
] };

/// What the kernel can do.
#[rustfmt::skip]
pub(crate) static FEATURES: Flags = Flags { unknown: "IORING_FEAT_???", names: names![
    (1, "IORING_FEAT_SINGLE_MMAP"), (2, "IORING_FEAT_NODROP"), (4, "IORING_FEAT_SUBMIT_STABLE"),
    (8, "IORING_FEAT_RW_CUR_POS"), (0x10, "IORING_FEAT_CUR_PERSONALITY"),
    (0x20, "IORING_FEAT_FAST_POLL"), (0x40, "IORING_FEAT_POLL_32BITS"),
    (0x80, "IORING_FEAT_SQPOLL_NONFIXED"), (0x100, "IORING_FEAT_EXT_ARG"),
    (0x200, "IORING_FEAT_NATIVE_WORKERS"), (0x400, "IORING_FEAT_RSRC_TAGS"),
    (0x800, "IORING_FEAT_CQE_SKIP"), (0x1000, "IORING_FEAT_LINKED_FILE"),
] };
