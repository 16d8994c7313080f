//! Being told of a fork.

use std::ffi::c_int;
use std::io;

// glibc links it into each library by itself, so that it knows whose handlers they are and
// forgets them at dlclose; the libc crate does not declare it for Linux.
unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Has `prepare` called before each fork(2) of this process, in the thread that forks, and
/// `parent` and `child` after it; for good, there is no taking back (pthread_atfork(3)).
///
/// Limits. `prepare`s are called last registered first, the others in order of registration.
/// The child has one thread, and every lock that another thread held stays locked in it: so
/// `prepare` takes what `child` needs, and both `parent` and `child` let go of it. What
/// is not held that way `child` must not touch (signal-safety(7)), apart from allocating,
/// which glibc makes work. A handler that panics aborts. Handlers are *not* called by
/// vfork(2), posix_spawn(3) and a raw clone(2); a child of those soon executes another
/// program, and drops what is [left out of it](crate::mapping::Mapping::dont_fork).
///
/// # Errors
/// `ENOMEM`.
pub fn at_fork(
    prepare: extern "C" fn(),
    parent: extern "C" fn(),
    child: extern "C" fn(),
) -> io::Result<()> {
    // SAFETY: the handlers are functions, which live as long as the code that holds them.
    let error = unsafe { pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// What the handlers saw in the thread that forked; other tests fork too.
        static SEEN: Cell<u32> = const { Cell::new(0) };
    }

    extern "C" fn prepare() {
        SEEN.set(SEEN.get() * 10 + 1);
    }

    extern "C" fn parent() {
        SEEN.set(SEEN.get() * 10 + 2);
    }

    extern "C" fn child() {
        SEEN.set(SEEN.get() * 10 + 3);
    }

    #[test]
    fn each_handler_is_called_once_on_its_side() {
        at_fork(prepare, parent, child).unwrap();
        // SAFETY: the child calls nothing but _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            // SAFETY: leaves without running the parent's destructors.
            unsafe { libc::_exit(i32::from(SEEN.get() != 13)) };
        }
        let mut status = -1;
        // SAFETY: `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!((status, SEEN.get()), (0, 12));
    }
}
