//! Errors: their names (`asm-generic/errno.h`), and the messages of libc.

use std::ffi::CStr;
use std::sync::LazyLock;

/// Names by number; a number without a meaning is empty.
#[rustfmt::skip]
static NAMES: &[&str] = &[
    "", "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF",
    "ECHILD", "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV",
    "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG",
    "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG",
    "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP", "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC",
    "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL",
    "ENOANO", "EBADRQC", "EBADSLT", "", "EBFONT", "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET",
    "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT", "ECOMM", "EPROTO", "EMULTIHOP", "EDOTDOT",
    "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD", "ELIBSCN",
    "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ",
    "EMSGSIZE", "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP",
    "EPFNOSUPPORT", "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH",
    "ENETRESET", "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN",
    "ETOOMANYREFS", "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY",
    "EINPROGRESS", "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT",
    "ENOMEDIUM", "EMEDIUMTYPE", "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED",
    "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
];

/// Results that make the kernel restart a call; a task never sees them.
static RESTARTS: &[(i32, &str, &str)] = &[
    (512, "ERESTARTSYS", "To be restarted if SA_RESTART is set"),
    (513, "ERESTARTNOINTR", "To be restarted"),
    (514, "ERESTARTNOHAND", "To be restarted if no handler"),
    (516, "ERESTART_RESTARTBLOCK", "Interrupted by signal"),
];

/// The name of an error: `ENOENT`.
pub(crate) fn name(number: i32) -> Option<&'static str> {
    let name = NAMES.get(usize::try_from(number).ok()?)?;
    (!name.is_empty()).then_some(name)
}

/// The name and the meaning of a result that makes the kernel restart the call.
pub(crate) fn restart(number: i32) -> Option<(&'static str, &'static str)> {
    RESTARTS.iter().find(|entry| entry.0 == number).map(|entry| (entry.1, entry.2))
}

/// The name of an error, or of a result that makes the kernel restart the call.
pub(crate) fn any_name(number: i32) -> Option<&'static str> {
    restart(number).map(|(name, _)| name).or_else(|| name(number))
}

/// The message of libc for an error that has a name: `No such file or directory`.
pub(crate) fn text(number: i32) -> &'static str {
    // Looked up once: a program that polls makes an error of every line.
    static TEXTS: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..NAMES.len() as i32).map(ask).collect());
    let text = usize::try_from(number).ok().and_then(|number| TEXTS.get(number));
    text.map_or("Unknown error", String::as_str)
}

fn ask(number: i32) -> String {
    let mut buffer = [0; 128];
    // SAFETY: the buffer is writable for the length given, and the call ends what it writes by a zero.
    let status = unsafe { libc::strerror_r(number, buffer.as_mut_ptr(), buffer.len()) };
    if status != 0 {
        return format!("Unknown error {number}");
    }
    // SAFETY: the call succeeded, so a zero ends the text within the buffer.
    unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names_and_texts() {
        assert_eq!(name(2), Some("ENOENT"));
        assert_eq!(text(2), "No such file or directory");
        assert_eq!(name(133), Some("EHWPOISON"));
        assert_eq!(name(41), None);
        assert_eq!(restart(512).map(|entry| entry.0), Some("ERESTARTSYS"));
    }
}
