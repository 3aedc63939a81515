//! The elementary functions (`sin`, `pow`, …), of the C library's `libm`, loaded at their first use.
//!
//! Loading `libm` takes 0.06 ms of the start of every program that names one of its functions, and
//! nearly no command calls one.  So the program has functions of these names itself: each asks the
//! loader for the one of `libm` (dlopen(3), dlsym(3)) when it is called first.  The results are those
//! of `libm`, bit by bit, which the values of round-robin databases rely on.
//!
//! A function that is missing here is no error: the program names `libm` again, and starts later.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Where a function of `libm` is.
struct LazyFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl LazyFunction {
    const fn of(name: &'static CStr) -> Self {
        LazyFunction { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Acquire);
        if known.is_null() { self.look() } else { known }
    }

    /// Asks the loader; threads that do so at once get the same answer.
    #[cold]
    fn look(&self) -> *mut c_void {
        // SAFETY: plain calls with texts that end in zero; the library is part of the C library of
        // this process, has no initialisers that rely on anything, and stays loaded.
        let found = unsafe {
            let library = libc::dlopen(c"libm.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
            if library.is_null() {
                ptr::null_mut()
            } else {
                libc::dlsym(library, self.name.as_ptr())
            }
        };
        if found.is_null() {
            let name = self.name.to_string_lossy();
            crate::stderr::message(format_args!("the C library has no {name} (libm.so.6)"));
            std::process::abort();
        }
        self.address.store(found, Ordering::Release);
        found
    }
}

macro_rules! functions {
    ($($type:ty, $text:literal: fn $name:ident($($argument:ident: $of:ty),*);)*) => {$(
        /// The function of `libm` of the same name.
        // SAFETY: the name is that of the C standard, and so are type and results.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $of),*) -> $type {
            static FUNCTION: LazyFunction = LazyFunction::of($text);
            // SAFETY: the address is that of the function of this name, which has this type.
            unsafe {
                let function: unsafe extern "C" fn($($of),*) -> $type =
                    std::mem::transmute(FUNCTION.address());
                function($($argument),*)
            }
        }
    )*};
}

functions! {
    f64, c"acos": fn acos(x: f64);
    f64, c"atan": fn atan(x: f64);
    f64, c"atan2": fn atan2(y: f64, x: f64);
    f64, c"cos": fn cos(x: f64);
    f64, c"exp": fn exp(x: f64);
    f64, c"hypot": fn hypot(x: f64, y: f64);
    f64, c"log": fn log(x: f64);
    f64, c"log10": fn log10(x: f64);
    f64, c"pow": fn pow(x: f64, y: f64);
    f64, c"sin": fn sin(x: f64);
    (), c"sincos": fn sincos(x: f64, sine: *mut f64, cosine: *mut f64);
    f32, c"acosf": fn acosf(x: f32);
    f32, c"cosf": fn cosf(x: f32);
    f32, c"powf": fn powf(x: f32, y: f32);
    f32, c"sinf": fn sinf(x: f32);
    (), c"sincosf": fn sincosf(x: f32, sine: *mut f32, cosine: *mut f32);
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_those_of_the_c_library() {
        // Known to the last bit: glibc rounds these correctly.
        assert_eq!(std::hint::black_box(1.0f64).exp().to_bits(), std::f64::consts::E.to_bits());
        assert_eq!(std::hint::black_box(10.0f64).ln().to_bits(), std::f64::consts::LN_10.to_bits());
        assert_eq!(std::hint::black_box(2.0f64).powf(0.5).to_bits(), 2.0f64.sqrt().to_bits());
        assert_eq!(std::hint::black_box(1000.0f64).log10().to_bits(), 3.0f64.to_bits());
        let (sine, cosine) = std::hint::black_box(0.0f64).sin_cos();
        assert_eq!((sine, cosine), (0.0, 1.0));
        assert_eq!(std::hint::black_box(3.0f64).hypot(4.0), 5.0);
        assert_eq!(std::hint::black_box(-1.0f64).acos().to_bits(), std::f64::consts::PI.to_bits());
        assert_eq!(std::hint::black_box(4.0f32).powf(0.5).to_bits(), 2.0f32.to_bits());
    }
}
