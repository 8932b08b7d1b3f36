//! What operations make of a share's record.
