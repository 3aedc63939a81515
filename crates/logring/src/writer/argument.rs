//! Values as arguments: what type a reader sees, how many bytes they need, and how they are stored.
//!
//! Everything is inlined into the call: three numbers are three stores.

use crate::abi::padded;
use crate::record::{ArgumentType, LogValue};

/// A value that a record can hold.
///
/// # Safety
/// `store` writes exactly `size_bytes` bytes, a multiple of 8, for the same `text_max`.
pub unsafe trait Argument {
    /// What a reader sees.
    const TYPE: ArgumentType;

    /// Bytes that it needs when texts are cut after `text_max` bytes.
    fn size_bytes(&self, text_max: usize) -> usize;

    /// Bytes of its text, if it is one, that remain when it is cut so.
    fn text_bytes(&self, _text_max: usize) -> usize {
        0
    }

    /// Stores it; gives the place behind it.
    ///
    /// # Safety
    /// There is room for `size_bytes` at `to`, which is aligned to 8.
    unsafe fn store(&self, to: *mut u8, text_max: usize) -> *mut u8;
}

macro_rules! words {
    ($($type:ty, $kind:ident, $value:ident => $word:expr;)*) => {$(
        // SAFETY: one word is claimed and stored.
        unsafe impl Argument for $type {
            const TYPE: ArgumentType = ArgumentType::$kind;

            #[inline(always)]
            fn size_bytes(&self, _: usize) -> usize {
                8
            }

            #[inline(always)]
            unsafe fn store(&self, to: *mut u8, _: usize) -> *mut u8 {
                let $value = *self;
                let word: u64 = $word;
                // SAFETY: the caller has 8 aligned bytes here.
                unsafe {
                    to.cast::<u64>().write(word.to_le());
                    to.add(8)
                }
            }
        }
    )*};
}

words! {
    i8, Signed8, value => i64::from(value).cast_unsigned();
    i16, Signed16, value => i64::from(value).cast_unsigned();
    i32, Signed32, value => i64::from(value).cast_unsigned();
    i64, Signed, value => value.cast_unsigned();
    isize, Signed, value => (value as i64).cast_unsigned();
    u8, Unsigned, value => u64::from(value);
    u16, Unsigned, value => u64::from(value);
    u32, Unsigned, value => u64::from(value);
    u64, Unsigned, value => value;
    usize, Unsigned, value => value as u64;
    f32, Float32, value => f64::from(value).to_bits();
    f64, Float, value => value.to_bits();
    bool, Bool, value => u64::from(value);
    char, Char, value => u64::from(u32::from(value));
    Pointer, Pointer, value => value.0;
    Interned, Interned, value => u64::from(value.0);
}

/// An address.
#[derive(Clone, Copy, Debug)]
pub struct Pointer(pub u64);

/// A text of the dictionary: see `text_id`.
#[derive(Clone, Copy, Debug)]
pub struct Interned(pub u32);

/// Bytes that are no text.
#[derive(Clone, Copy, Debug)]
pub struct RawBytes<'a>(pub &'a [u8]);

/// A text that may be no UTF-8, as it came from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawText<'a>(pub &'a [u8]);

/// Stores a length and bytes, padded with zeros.
///
/// # Safety
/// There is room for `padded(4 + bytes)` at `to`, aligned to 8; there is at least one word.
#[inline(always)]
unsafe fn store_bytes(bytes: &[u8], to: *mut u8, text_max: usize) -> *mut u8 {
    let length = bytes.len().min(text_max);
    let total = padded(4 + length);
    // SAFETY: the last word is cleared first, for the padding; then the length and the bytes, which
    // end within `total`.
    unsafe {
        to.add(total - 8).cast::<u64>().write(0);
        #[allow(clippy::cast_possible_truncation, reason = "records are shorter than 512 KiB")]
        to.cast::<u32>().write((length as u32).to_le());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(4), length);
        to.add(total)
    }
}

macro_rules! texts {
    ($($type:ty, $kind:ident, $value:ident => $bytes:expr;)*) => {$(
        // SAFETY: `store_bytes` stores as many bytes as are claimed.
        unsafe impl Argument for $type {
            const TYPE: ArgumentType = ArgumentType::$kind;

            #[inline(always)]
            fn size_bytes(&self, text_max: usize) -> usize {
                let $value = self;
                padded(4 + $bytes.len().min(text_max))
            }

            fn text_bytes(&self, text_max: usize) -> usize {
                let $value = self;
                $bytes.len().min(text_max)
            }

            #[inline(always)]
            unsafe fn store(&self, to: *mut u8, text_max: usize) -> *mut u8 {
                let $value = self;
                // SAFETY: as the caller promises.
                unsafe { store_bytes($bytes, to, text_max) }
            }
        }
    )*};
}

texts! {
    str, Text, value => value.as_bytes();
    String, Text, value => value.as_bytes();
    std::borrow::Cow<'_, str>, Text, value => value.as_bytes();
    RawBytes<'_>, Bytes, value => value.0;
    RawText<'_>, Text, value => value.0;
    [u8], Bytes, value => value;
}

// SAFETY: as the value that it refers to.
unsafe impl<T: Argument + ?Sized> Argument for &T {
    const TYPE: ArgumentType = T::TYPE;

    #[inline(always)]
    fn size_bytes(&self, text_max: usize) -> usize {
        T::size_bytes(self, text_max)
    }

    fn text_bytes(&self, text_max: usize) -> usize {
        T::text_bytes(self, text_max)
    }

    #[inline(always)]
    unsafe fn store(&self, to: *mut u8, text_max: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { T::store(self, to, text_max) }
    }
}

/// Arguments in a row: without knowing their types.
///
/// # Safety
/// As of [`Argument`].
pub unsafe trait ErasedArguments {
    /// Bytes of all.
    fn size_bytes(&self, text_max: usize) -> usize;

    /// Bytes of all texts that remain when each is cut so.
    fn text_bytes(&self, text_max: usize) -> usize;

    /// Stores all.
    ///
    /// # Safety
    /// As of [`Argument::store`].
    unsafe fn store(&self, to: *mut u8, text_max: usize);
}

// SAFETY: as the arguments that it refers to.
unsafe impl ErasedArguments for &dyn ErasedArguments {
    fn size_bytes(&self, text_max: usize) -> usize {
        (**self).size_bytes(text_max)
    }

    fn text_bytes(&self, text_max: usize) -> usize {
        (**self).text_bytes(text_max)
    }

    unsafe fn store(&self, to: *mut u8, text_max: usize) {
        // SAFETY: as the caller promises.
        unsafe { (**self).store(to, text_max) }
    }
}

/// Arguments in a row, as a tuple.
pub trait ArgumentList: ErasedArguments {
    /// The types of the arguments, as numbers.
    const TYPES: &'static [u8];
    /// Different for different types, and never 0.
    const FINGERPRINT: u32 = fingerprint(Self::TYPES);
}

/// FNV-1a of the types; never 0.
const fn fingerprint(types: &[u8]) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < types.len() {
        hash = (hash ^ types[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    if hash == 0 { 1 } else { hash }
}

macro_rules! lists {
    ($(($($name:ident $at:tt),*))*) => {$(
        // SAFETY: each value stores as many bytes as it claims, behind the one before.
        unsafe impl<$($name: Argument),*> ErasedArguments for ($($name,)*) {
            #[inline(always)]
            fn size_bytes(&self, _text_max: usize) -> usize {
                0 $(+ self.$at.size_bytes(_text_max))*
            }

            fn text_bytes(&self, _text_max: usize) -> usize {
                0 $(+ self.$at.text_bytes(_text_max))*
            }

            #[inline(always)]
            unsafe fn store(&self, _to: *mut u8, _text_max: usize) {
                // SAFETY: as the caller promises.
                $(let _to = unsafe { self.$at.store(_to, _text_max) };)*
            }
        }

        impl<$($name: Argument),*> ArgumentList for ($($name,)*) {
            const TYPES: &'static [u8] = &[$($name::TYPE as u8),*];
        }
    )*};
}

lists! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15)
}

/// Arguments, and attributes behind them.
#[derive(Clone, Copy, Debug)]
pub struct WithAttributes<'a, A>(pub A, pub &'a [(&'a str, LogValue<'a>)]);

/// Bytes of a name's field; names are cut after 255 bytes.
fn name_of(name: &str) -> &[u8] {
    &name.as_bytes()[..name.len().min(255)]
}

/// The type of an attribute's value, its word, and its bytes if it has some.
fn parts<'a>(value: &LogValue<'a>) -> (ArgumentType, u64, Option<&'a [u8]>) {
    match *value {
        LogValue::Signed(number) => (ArgumentType::Signed, number.cast_unsigned(), None),
        LogValue::Unsigned(number) => (ArgumentType::Unsigned, number, None),
        LogValue::Float(number) => (ArgumentType::Float, number.to_bits(), None),
        LogValue::Bool(is) => (ArgumentType::Bool, u64::from(is), None),
        LogValue::Char(c) => (ArgumentType::Char, u64::from(u32::from(c)), None),
        LogValue::Interned(number) => (ArgumentType::Interned, u64::from(number), None),
        LogValue::Pointer(address) => (ArgumentType::Pointer, address, None),
        LogValue::Text(text) => (ArgumentType::Text, 0, Some(text)),
        LogValue::Bytes(bytes) => (ArgumentType::Bytes, 0, Some(bytes)),
    }
}

// SAFETY: each attribute stores what it claims: a head with its name, and its value.
unsafe impl<A: ErasedArguments> ErasedArguments for WithAttributes<'_, A> {
    fn size_bytes(&self, text_max: usize) -> usize {
        let size = |(name, value): &(&str, LogValue)| {
            let bytes = parts(value).2.map(|bytes| padded(4 + bytes.len().min(text_max)));
            padded(4 + name_of(name).len()) + bytes.unwrap_or(8)
        };
        self.0.size_bytes(text_max) + self.1.iter().map(size).sum::<usize>()
    }

    fn text_bytes(&self, text_max: usize) -> usize {
        let bytes = |(_, value): &(&str, LogValue)| {
            parts(value).2.map_or(0, |bytes| bytes.len().min(text_max))
        };
        self.0.text_bytes(text_max) + self.1.iter().map(bytes).sum::<usize>()
    }

    unsafe fn store(&self, to: *mut u8, text_max: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.0.store(to, text_max) };
        // SAFETY: the arguments take this much of the caller's room.
        let mut to = unsafe { to.add(self.0.size_bytes(text_max)) };
        for (name, value) in self.1 {
            let ((kind, word, bytes), name) = (parts(value), name_of(name));
            // SAFETY: head, name and value have their room; the name is at most 255 bytes.
            unsafe {
                let behind = store_bytes(name, to, 255);
                #[allow(clippy::cast_possible_truncation, reason = "at most 255")]
                to.cast::<[u8; 4]>().write([kind as u8, name.len() as u8, 0, 0]);
                to = match bytes {
                    Some(bytes) => store_bytes(bytes, behind, text_max),
                    None => word.store(behind, text_max),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{self, FLAG_ATTRIBUTES, RECORD_HEAD, kind};
    use crate::record::RecordIterator;

    /// A record of exactly the bytes that its arguments claim.
    fn stored(payload: &dyn ErasedArguments, flags: u8, text_max: usize) -> Vec<u8> {
        let size = RECORD_HEAD + payload.size_bytes(text_max);
        // Not zeros: what is not stored would show.
        let mut words = vec![u64::MAX; size / 8];
        assert_eq!(words.len() * 8, size);
        words[..3].copy_from_slice(&[abi::word0(size, kind::LOG, flags), 0, 0]);
        // SAFETY: the words behind the head are as many as are claimed.
        unsafe { payload.store(words[3..].as_mut_ptr().cast(), text_max) };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn values<A: ArgumentList>(list: &A, text_max: usize, each: impl FnOnce(&[LogValue<'_>])) {
        let bytes = stored(list, 4, text_max);
        let record = RecordIterator::new(&bytes, 0).next().unwrap().unwrap();
        let types: Vec<_> =
            A::TYPES.iter().map(|kind| ArgumentType::from_number(*kind).unwrap()).collect();
        each(record.arguments(&types).unwrap().as_slice());
    }

    #[test]
    fn what_is_stored_is_read_within_the_bytes_that_are_claimed() {
        let numbers = (-1_i8, u64::MAX, 2.5_f32, true, 'ä', Pointer(16), Interned(7), -3_isize);
        values(&numbers, usize::MAX, |read| {
            use LogValue::{Bool, Char, Float, Interned, Pointer, Signed, Unsigned};
            let expected = [
                Signed(-1),
                Unsigned(u64::MAX),
                Float(2.5),
                Bool(true),
                Char('ä'),
                Pointer(16),
                Interned(7),
                Signed(-3),
            ];
            assert_eq!(read, expected);
        });
        for length in 0..20 {
            let (text, most) = ("x".repeat(length), 11);
            let list = (text.as_str(), RawBytes(text.as_bytes()), length, text.clone());
            for text_max in [usize::MAX, most, 0] {
                let kept = &text.as_bytes()[..length.min(text_max)];
                values(&list, text_max, |read| {
                    let (text, bytes) = (LogValue::Text(kept), LogValue::Bytes(kept));
                    assert_eq!(read, [text, bytes, LogValue::Unsigned(length as u64), text]);
                });
            }
        }
    }

    #[test]
    fn attributes_are_stored_behind_the_arguments() {
        let long = "n".repeat(300);
        for length in 0..12 {
            let text = &long.as_bytes()[..length];
            let pairs = [
                ("StackLevel", LogValue::Signed(2)),
                (&long[..length], LogValue::Text(text)),
                (long.as_str(), LogValue::Bytes(text)),
                ("", LogValue::Char('c')),
            ];
            let bytes = stored(&WithAttributes((7_u8, "a"), &pairs), 4 | FLAG_ATTRIBUTES, 9);
            let record = RecordIterator::new(&bytes, 0).next().unwrap().unwrap();
            let types = [ArgumentType::Unsigned, ArgumentType::Text];
            let read = record.arguments(&types).unwrap();
            assert_eq!(read.as_slice(), [LogValue::Unsigned(7), LogValue::Text(b"a")]);
            let kept = &text[..length.min(9)];
            let expected = [
                (&b"StackLevel"[..], LogValue::Signed(2)),
                (text, LogValue::Text(kept)),
                (&long.as_bytes()[..255], LogValue::Bytes(kept)),
                (&b""[..], LogValue::Char('c')),
            ];
            assert!(read.attributes.eq(expected), "{length}");
        }
    }
}
