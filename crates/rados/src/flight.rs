//! Operators in flight. Each is a box that belongs to its completion: librados gets the address, and the callback takes the box
//! back, reads what was found, answers the caller if it still waits, and frees everything.
//!
//! Held true: the box is made into a pointer once and taken back once. The callback is certain to come, with an answer or with
//! a timeout; if librados refuses to begin, no callback comes, and the box is taken back at once.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::rados::{Found, ReadStep, Reading, Trouble, WriteStep};
use tokio::sync::oneshot;

use crate::connection::OpenPool;
use crate::sys;

thread_local! {
    static COMPLETING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is the one that librados completes operators on.
pub(crate) fn is_completing() -> bool {
    COMPLETING.get()
}

type Answer<T> = oneshot::Receiver<Result<T, Trouble>>;

struct Flight<Op, T> {
    op: Op,
    sender: oneshot::Sender<Result<T, Trouble>>,
    /// The connection lives as long as its operators.
    pool: Arc<OpenPool>,
}

struct WriteOperator(sys::WriteOp);

impl Drop for WriteOperator {
    fn drop(&mut self) {
        // SAFETY: it was made by `rados_create_write_op`, and is released once. The operator is over, or never began.
        unsafe { sys::rados_release_write_op(self.0) }
    }
}

struct ReadOperator {
    op: sys::ReadOp,
    /// Where librados puts what it finds.
    places: Vec<OwnedPlace>,
}

/// A place whose address librados knows until the operator is over. A raw pointer, not a box: a box that moves claims to be the
/// only way to what is in it.
struct OwnedPlace(*mut Place);

impl OwnedPlace {
    fn new(place: Place) -> Self {
        Self(Box::into_raw(Box::new(place)))
    }
}

impl Drop for OwnedPlace {
    fn drop(&mut self) {
        // SAFETY: it came from a box, is freed once, and the operator that wrote to it is over, or never began.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Drop for ReadOperator {
    fn drop(&mut self) {
        // SAFETY: it was made by `rados_create_read_op`, and is released once. The operator is over, or never began.
        unsafe { sys::rados_release_read_op(self.op) }
    }
}

enum Place {
    Rows { found: sys::OmapIter, more: u8, result: c_int },
    Bytes { buffer: Vec<u8>, read: usize, result: c_int },
}

impl Drop for Place {
    fn drop(&mut self) {
        match self {
            // SAFETY: librados made the iterator when the step was added; it is ended once, here.
            Place::Rows { found, .. } if !found.is_null() => unsafe { sys::rados_omap_get_end(*found) },
            Place::Rows { .. } | Place::Bytes { .. } => {}
        }
    }
}

pub(crate) fn write(pool: Arc<OpenPool>, object: &str, steps: &[WriteStep]) -> Result<Answer<()>, Trouble> {
    let name = name(object)?;
    // SAFETY: it takes no arguments.
    let op = WriteOperator(unsafe { sys::rados_create_write_op() });
    let flags = match steps {
        [WriteStep::Delete] => sys::FULL_FORCE,
        _ => sys::FULL_TRY,
    };
    let makes = steps.iter().any(|step| matches!(step, WriteStep::Set(_) | WriteStep::Write(_)));
    if makes {
        // A compare on an object that does not exist would fail for that alone.
        // SAFETY: the operator is valid; the category is not used any more, which a null pointer says.
        unsafe { sys::rados_write_op_create(op.0, sys::CREATE_IDEMPOTENT, ptr::null()) }
    }
    steps.iter().for_each(|step| add_write(&op, step));
    let (sender, receiver) = oneshot::channel();
    let (io, raw_op) = (pool.io, op.0);
    let flight = Box::into_raw(Box::new(Flight { op, sender, pool }));
    let completion = completion(flight.cast(), written);
    // SAFETY: all handles are valid, and the name is copied. `flight` is live until `written` takes it back.
    let code =
        unsafe { sys::rados_aio_write_op_operate(raw_op, io, completion, name.as_ptr(), ptr::null_mut(), flags) };
    if code < 0 {
        // SAFETY: an operator that did not begin never completes, so this is the one time that the box is taken back.
        drop(unsafe { Box::from_raw(flight) });
        release(completion);
        return Err(trouble(code));
    }
    Ok(receiver)
}

pub(crate) fn read(pool: Arc<OpenPool>, object: &str, steps: &[ReadStep]) -> Result<Answer<Reading>, Trouble> {
    let name = name(object)?;
    // SAFETY: it takes no arguments.
    let mut op = ReadOperator { op: unsafe { sys::rados_create_read_op() }, places: Vec::with_capacity(steps.len()) };
    steps.iter().try_for_each(|step| add_read(&mut op, step))?;
    let (sender, receiver) = oneshot::channel();
    let (io, raw_op) = (pool.io, op.op);
    let flight = Box::into_raw(Box::new(Flight { op, sender, pool }));
    let completion = completion(flight.cast(), was_read);
    // SAFETY: all handles are valid, and the name is copied. `flight`, with all places, is live until `was_read` takes it back.
    let code = unsafe { sys::rados_aio_read_op_operate(raw_op, io, completion, name.as_ptr(), 0) };
    if code < 0 {
        // SAFETY: an operator that did not begin never completes, so this is the one time that the box is taken back.
        drop(unsafe { Box::from_raw(flight) });
        release(completion);
        return Err(trouble(code));
    }
    Ok(receiver)
}

/// librados copies keys, values and bytes before these calls return.
fn add_write(op: &WriteOperator, step: &WriteStep) {
    match step {
        WriteStep::Compare { key, value } => {
            // SAFETY: both pointers come with their lengths, from values that live until the call returns; nobody wants the
            // result of the one step, which a null pointer says.
            unsafe {
                sys::rados_write_op_omap_cmp2(
                    op.0,
                    start(key),
                    sys::COMPARE_EQUAL,
                    start(value),
                    key.len(),
                    value.len(),
                    ptr::null_mut(),
                );
            }
        }
        WriteStep::Set(rows) => {
            let (keys, key_lengths) = pointers(rows.iter().map(|(key, _)| key));
            let (values, value_lengths) = pointers(rows.iter().map(|(_, value)| value));
            // SAFETY: four arrays of as many elements as are told, which live until the call returns, as what they point to does.
            unsafe {
                sys::rados_write_op_omap_set2(
                    op.0,
                    keys.as_ptr(),
                    values.as_ptr(),
                    key_lengths.as_ptr(),
                    value_lengths.as_ptr(),
                    rows.len(),
                );
            }
        }
        WriteStep::Remove(all) => {
            let (keys, lengths) = pointers(all.iter());
            // SAFETY: two arrays of as many elements as are told, which live until the call returns.
            unsafe { sys::rados_write_op_omap_rm_keys2(op.0, keys.as_ptr(), lengths.as_ptr(), all.len()) }
        }
        // SAFETY: the operator is valid.
        WriteStep::Clear => unsafe { sys::rados_write_op_omap_clear(op.0) },
        // SAFETY: the bytes live until the call returns.
        WriteStep::Write(bytes) => unsafe { sys::rados_write_op_write_full(op.0, start(bytes), bytes.len()) },
        // SAFETY: the operator is valid.
        WriteStep::Delete => unsafe { sys::rados_write_op_remove(op.0) },
    }
}

fn add_read(op: &mut ReadOperator, step: &ReadStep) -> Result<(), Trouble> {
    let op_handle = op.op;
    match step {
        ReadStep::Rows(all) => {
            let (keys, lengths) = pointers(all.iter());
            let (found, _, result) = op.place_for_rows();
            // SAFETY: two arrays of as many elements as are told, which live until the call returns. `found` and `result` are
            // in a place that lives until the operator is over.
            unsafe {
                sys::rados_read_op_omap_get_vals_by_keys2(
                    op_handle,
                    keys.as_ptr(),
                    all.len(),
                    lengths.as_ptr(),
                    found,
                    result,
                );
            }
        }
        ReadStep::Range { after, prefix, limit } => {
            let (after, prefix) = (no_nul(after)?, no_nul(prefix)?);
            let (found, more, result) = op.place_for_rows();
            // SAFETY: the texts end with NUL and are copied; the place lives until the operator is over.
            unsafe {
                sys::rados_read_op_omap_get_vals2(
                    op_handle,
                    after.as_ptr(),
                    prefix.as_ptr(),
                    *limit as u64,
                    found,
                    more,
                    result,
                );
            }
        }
        ReadStep::Keys { after, limit } => {
            let after = no_nul(after)?;
            let (found, more, result) = op.place_for_rows();
            // SAFETY: the text ends with NUL and is copied; the place lives until the operator is over.
            unsafe {
                sys::rados_read_op_omap_get_keys2(op_handle, after.as_ptr(), *limit as u64, found, more, result);
            }
        }
        ReadStep::Bytes { offset, length } => {
            let (buffer, read, result) = op.place_for_bytes(*length);
            // SAFETY: the buffer has room for `length` bytes and is never resized; it and its place live until the operator is over.
            unsafe { sys::rados_read_op_read(op_handle, *offset, *length, buffer.cast(), read, result) }
        }
    }
    Ok(())
}

impl ReadOperator {
    fn place_for_rows(&mut self) -> (*mut sys::OmapIter, *mut u8, *mut c_int) {
        let place = OwnedPlace::new(Place::Rows { found: ptr::null_mut(), more: 0, result: 0 });
        let raw = place.0;
        self.places.push(place);
        // SAFETY: the place was made just now, and nobody else has its address yet.
        match unsafe { &mut *raw } {
            Place::Rows { found, more, result } => (found, more, result),
            Place::Bytes { .. } => unreachable!("it was made for rows"),
        }
    }

    fn place_for_bytes(&mut self, length: usize) -> (*mut u8, *mut usize, *mut c_int) {
        let place = OwnedPlace::new(Place::Bytes { buffer: Vec::with_capacity(length), read: 0, result: 0 });
        let raw = place.0;
        self.places.push(place);
        // SAFETY: the place was made just now, and nobody else has its address yet.
        match unsafe { &mut *raw } {
            Place::Bytes { buffer, read, result } => (buffer.as_mut_ptr(), read, result),
            Place::Rows { .. } => unreachable!("it was made for bytes"),
        }
    }

    /// What was found. The operator is over.
    fn found(&mut self) -> Result<Vec<Found>, Trouble> {
        // SAFETY: librados has written what it writes, and each place is borrowed once.
        self.places.iter().map(|place| unsafe { &mut *place.0 }.take()).collect()
    }
}

extern "C" fn written(completion: sys::Completion, argument: *mut c_void) {
    COMPLETING.set(true);
    // SAFETY: the pointer that `write` gave away; a completion fires once. The operator is over, so librados uses nothing of it.
    let flight = unsafe { Box::from_raw(argument.cast::<Flight<WriteOperator, ()>>()) };
    // SAFETY: the completion is valid within its callback.
    let code = unsafe { sys::rados_aio_get_return_value(completion) };
    release(completion);
    let Flight { op, sender, pool } = *flight;
    // Before the caller goes on: it may end the process, and is to be the last one to hold the pool.
    drop((op, pool));
    // Nobody may be waiting any more.
    let _ = sender.send(if code < 0 { Err(trouble(code)) } else { Ok(()) });
}

extern "C" fn was_read(completion: sys::Completion, argument: *mut c_void) {
    COMPLETING.set(true);
    // SAFETY: the pointer that `read` gave away; a completion fires once. The operator is over, so librados uses nothing of it.
    let flight = unsafe { Box::from_raw(argument.cast::<Flight<ReadOperator, Reading>>()) };
    // SAFETY: the completion is valid within its callback.
    let (code, version) =
        unsafe { (sys::rados_aio_get_return_value(completion), sys::rados_aio_get_version(completion)) };
    release(completion);
    let Flight { mut op, sender, pool } = *flight;
    let answer = match code {
        0.. => op.found().map(|found| Reading { version, found }),
        code => Err(trouble(code)),
    };
    // As above.
    drop((op, pool));
    let _ = sender.send(answer);
}

impl Place {
    fn take(&mut self) -> Result<Found, Trouble> {
        match self {
            Place::Rows { result, .. } | Place::Bytes { result, .. } if *result < 0 => Err(trouble(*result)),
            Place::Rows { found, more, .. } => Ok(Found::Rows { rows: rows(*found), more: *more != 0 }),
            Place::Bytes { buffer, read, .. } => {
                let mut buffer = std::mem::take(buffer);
                assert!(*read <= buffer.capacity(), "librados was told how long the buffer is");
                // SAFETY: librados wrote so many bytes into it, from its beginning, and they fit.
                unsafe { buffer.set_len(*read) };
                Ok(Found::Bytes(buffer.into()))
            }
        }
    }
}

fn rows(found: sys::OmapIter) -> Vec<(Bytes, Bytes)> {
    let mut rows = Vec::new();
    loop {
        let (mut key, mut value): (*mut c_char, *mut c_char) = (ptr::null_mut(), ptr::null_mut());
        let (mut key_length, mut value_length) = (0, 0);
        // SAFETY: the iterator is filled, since the operator is over; the four places live until the call returns.
        let code =
            unsafe { sys::rados_omap_get_next2(found, &mut key, &mut value, &mut key_length, &mut value_length) };
        if code < 0 || key.is_null() {
            return rows;
        }
        // SAFETY: librados keeps both until the iterator is ended; they are copied here.
        rows.push(unsafe { (copy(key, key_length), copy(value, value_length)) });
    }
}

/// # Safety
/// `from` is null, or points to `length` bytes.
unsafe fn copy(from: *const c_char, length: usize) -> Bytes {
    if from.is_null() || length == 0 {
        return Bytes::new();
    }
    // SAFETY: as the caller promised.
    Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(from.cast(), length) })
}

fn completion(argument: *mut c_void, fired: sys::Callback) -> sys::Completion {
    let mut completion = ptr::null_mut();
    // SAFETY: the place lives until the call returns. It always succeeds, or the process is out of memory and ends.
    unsafe { sys::rados_aio_create_completion2(argument, fired, &mut completion) };
    completion
}

fn release(completion: sys::Completion) {
    // SAFETY: our one reference; librados has its own while the callback runs.
    unsafe { sys::rados_aio_release(completion) }
}

fn name(object: &str) -> Result<CString, Trouble> {
    CString::new(object).map_err(|_| Trouble::Refused("an object's name with a NUL".into()))
}

fn no_nul(key: &[u8]) -> Result<CString, Trouble> {
    CString::new(key).map_err(|_| Trouble::Refused("a row's key with a NUL".into()))
}

fn start(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

fn pointers<'a>(all: impl Iterator<Item = &'a Bytes>) -> (Vec<*const c_char>, Vec<usize>) {
    all.map(|bytes| (start(bytes), bytes.len())).unzip()
}

/// Linux's error numbers, which is how OSDs answer on every system.
pub(crate) fn trouble(code: c_int) -> Trouble {
    const MISSING: c_int = -2;
    const FULL: c_int = -28;
    const OVER_QUOTA: c_int = -122;
    const TIMED_OUT: c_int = -110;
    const CANCELED: c_int = -125;
    /// `ESHUTDOWN`, which Ceph calls `EBLOCKLISTED`.
    const SHUT_OUT: c_int = -108;
    match code {
        CANCELED => Trouble::Changed,
        MISSING => Trouble::Missing,
        FULL | OVER_QUOTA => Trouble::Full,
        TIMED_OUT => Trouble::Lost,
        SHUT_OUT => Trouble::ShutOut,
        code => Trouble::Refused(std::io::Error::from_raw_os_error(-code).to_string()),
    }
}
