//! Starting programs at the price the kernel asks, and hearing how they ended.
