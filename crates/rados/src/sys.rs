//! The functions of librados that are used, as `rados/librados.h` of Ceph 16 declares them. Later versions keep them.

use std::ffi::{c_char, c_int, c_void};

pub(crate) type Cluster = *mut c_void;
pub(crate) type IoContext = *mut c_void;
pub(crate) type Completion = *mut c_void;
pub(crate) type WriteOp = *mut c_void;
pub(crate) type ReadOp = *mut c_void;
pub(crate) type OmapIter = *mut c_void;
pub(crate) type Callback = extern "C" fn(completion: Completion, argument: *mut c_void);

/// `LIBRADOS_CREATE_IDEMPOTENT`
pub(crate) const CREATE_IDEMPOTENT: c_int = 0;
/// `LIBRADOS_CMPXATTR_OP_EQ`
pub(crate) const COMPARE_EQUAL: u8 = 1;
/// `LIBRADOS_OPERATION_FULL_TRY`: a full pool answers, instead of keeping the operator until there is room.
pub(crate) const FULL_TRY: c_int = 64;
/// `LIBRADOS_OPERATION_FULL_FORCE`: what makes room is let through.
pub(crate) const FULL_FORCE: c_int = 128;

#[link(name = "rados")]
unsafe extern "C" {
    pub(crate) fn rados_create2(cluster: *mut Cluster, name: *const c_char, user: *const c_char, flags: u64) -> c_int;
    pub(crate) fn rados_conf_read_file(cluster: Cluster, path: *const c_char) -> c_int;
    pub(crate) fn rados_conf_set(cluster: Cluster, option: *const c_char, value: *const c_char) -> c_int;
    pub(crate) fn rados_connect(cluster: Cluster) -> c_int;
    pub(crate) fn rados_shutdown(cluster: Cluster);
    pub(crate) fn rados_mon_command(
        cluster: Cluster,
        commands: *const *const c_char,
        count: usize,
        input: *const c_char,
        input_length: usize,
        output: *mut *mut c_char,
        output_length: *mut usize,
        status: *mut *mut c_char,
        status_length: *mut usize,
    ) -> c_int;
    pub(crate) fn rados_buffer_free(buffer: *mut c_char);
    pub(crate) fn rados_getaddrs(cluster: Cluster, addresses: *mut *mut c_char) -> c_int;
    pub(crate) fn rados_blocklist_add(cluster: Cluster, client: *mut c_char, seconds: u32) -> c_int;
    pub(crate) fn rados_wait_for_latest_osdmap(cluster: Cluster) -> c_int;

    pub(crate) fn rados_ioctx_create(cluster: Cluster, pool: *const c_char, io: *mut IoContext) -> c_int;
    pub(crate) fn rados_ioctx_destroy(io: IoContext);

    pub(crate) fn rados_aio_create_completion2(
        argument: *mut c_void,
        complete: Callback,
        completion: *mut Completion,
    ) -> c_int;
    pub(crate) fn rados_aio_release(completion: Completion);
    pub(crate) fn rados_aio_get_return_value(completion: Completion) -> c_int;
    pub(crate) fn rados_aio_get_version(completion: Completion) -> u64;

    pub(crate) fn rados_create_write_op() -> WriteOp;
    pub(crate) fn rados_release_write_op(op: WriteOp);
    pub(crate) fn rados_write_op_create(op: WriteOp, exclusive: c_int, category: *const c_char);
    pub(crate) fn rados_write_op_omap_cmp2(
        op: WriteOp,
        key: *const c_char,
        comparison: u8,
        value: *const c_char,
        key_length: usize,
        value_length: usize,
        result: *mut c_int,
    );
    pub(crate) fn rados_write_op_omap_set2(
        op: WriteOp,
        keys: *const *const c_char,
        values: *const *const c_char,
        key_lengths: *const usize,
        value_lengths: *const usize,
        count: usize,
    );
    pub(crate) fn rados_write_op_omap_rm_keys2(
        op: WriteOp,
        keys: *const *const c_char,
        key_lengths: *const usize,
        count: usize,
    );
    pub(crate) fn rados_write_op_omap_clear(op: WriteOp);
    pub(crate) fn rados_write_op_write_full(op: WriteOp, bytes: *const c_char, length: usize);
    pub(crate) fn rados_write_op_remove(op: WriteOp);
    pub(crate) fn rados_aio_write_op_operate(
        op: WriteOp,
        io: IoContext,
        completion: Completion,
        object: *const c_char,
        modified: *mut c_void,
        flags: c_int,
    ) -> c_int;

    pub(crate) fn rados_create_read_op() -> ReadOp;
    pub(crate) fn rados_release_read_op(op: ReadOp);
    pub(crate) fn rados_read_op_omap_get_vals_by_keys2(
        op: ReadOp,
        keys: *const *const c_char,
        count: usize,
        key_lengths: *const usize,
        found: *mut OmapIter,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_omap_get_vals2(
        op: ReadOp,
        after: *const c_char,
        prefix: *const c_char,
        limit: u64,
        found: *mut OmapIter,
        more: *mut u8,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_omap_get_keys2(
        op: ReadOp,
        after: *const c_char,
        limit: u64,
        found: *mut OmapIter,
        more: *mut u8,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_read(
        op: ReadOp,
        offset: u64,
        length: usize,
        buffer: *mut c_char,
        read: *mut usize,
        result: *mut c_int,
    );
    pub(crate) fn rados_aio_read_op_operate(
        op: ReadOp,
        io: IoContext,
        completion: Completion,
        object: *const c_char,
        flags: c_int,
    ) -> c_int;

    pub(crate) fn rados_omap_get_next2(
        found: OmapIter,
        key: *mut *mut c_char,
        value: *mut *mut c_char,
        key_length: *mut usize,
        value_length: *mut usize,
    ) -> c_int;
    pub(crate) fn rados_omap_get_end(found: OmapIter);
}
