//! Kinds that are numbers and nothing else.

use super::{Kind, Named, Outcome, Scene, put};

/// `int`.
pub(crate) const INT: Kind = Kind::new(|scene, index| {
    scene.signed_number((scene.argument(index) as i32).into());
    Outcome::Done
});

/// `unsigned int`.
pub(crate) const UINT: Kind = Kind::new(|scene, index| {
    scene.number((scene.argument(index) as u32).into());
    Outcome::Done
});

/// `long`, `off_t`.
pub(crate) const LONG: Kind = Kind::new(|scene, index| {
    scene.signed_number(scene.signed(index));
    Outcome::Done
});

/// `unsigned long`, `size_t`.
pub(crate) const SIZE: Kind = Kind::new(|scene, index| {
    scene.number(scene.argument(index));
    Outcome::Done
});

/// A number of 64 bits of which a 32-bit program gives the halves in two words.
pub(crate) const PAIR: Kind = Kind::new(|scene, index| {
    scene.signed_number(pair(scene, index));
    Outcome::Done
});

/// The number that two words are the halves of.
pub(crate) fn pair(scene: &Scene<'_>, index: usize) -> i64 {
    (scene.argument(index) | scene.argument(index + 1) << 32) as i64
}

/// The same with the halves in the other order.
pub(crate) const PAIR_SWAPPED: Kind = Kind::new(|scene, index| {
    scene.signed_number((scene.argument(index) << 32 | scene.argument(index + 1)) as i64);
    Outcome::Done
});

/// A place in a file in pages, shown in bytes.
pub(crate) const PAGES: Kind = Kind::new(|scene, index| {
    scene.hex(scene.argument(index) << 12);
    Outcome::Done
});

/// A word of which nothing is known: `0x1f`, `0`.
pub(crate) const HEX: Kind = Kind::new(|scene, index| {
    scene.hex(scene.argument(index));
    Outcome::Done
});

/// The same of 32 bits.
pub(crate) const HEX32: Kind = Kind::new(|scene, index| {
    scene.hex(scene.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// A word that the kernel does not look at, or not on this machine.
pub(crate) const UNUSED: Kind = Kind::new(|_, _| Outcome::Skip);

/// An address.
pub(crate) const POINTER: Kind = Kind::new(|scene, index| {
    scene.pointer(scene.argument(index));
    Outcome::Done
});

/// An address that the kernel writes to: told when the call is over, as `strace` does.
pub(crate) const POINTER_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    scene.pointer(scene.argument(index));
    Outcome::Done
});

/// A mode as a program gives it: `0644`.
pub(crate) const MODE: Kind = Kind::new(|scene, index| {
    put!(scene, "{}", Mode(scene.argument(index) as u16));
    Outcome::Done
});

/// Shows a mode with at least three digits: `000`, `0644`.
pub(crate) struct Mode(pub(crate) u16);

impl std::fmt::Display for Mode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0..0o100 => write!(formatter, "{:03o}", self.0),
            mode => write!(formatter, "0{mode:o}"),
        }
    }
}

/// A user or group: -1 is nobody.
pub(crate) const ID: Kind = Kind::new(|scene, index| {
    id(scene, scene.argument(index) as u32);
    Outcome::Done
});

/// Writes a user or group.
pub(crate) fn id(scene: &mut Scene<'_>, number: u32) {
    if number == u32::MAX { scene.put("-1") } else { scene.number(number.into()) }
}

/// A descriptor.
pub(crate) const FD: Kind = Kind::new(|scene, index| {
    scene.descriptor(scene.argument(index) as i32);
    Outcome::Done
})
.naming(Named::Descriptor);

/// A folder that paths are looked up from: a descriptor, or the working directory.
pub(crate) const DIRFD: Kind = Kind::new(|scene, index| {
    directory(scene, scene.argument(index) as i32);
    Outcome::Done
})
.naming(Named::Descriptor);

/// Writes a folder that paths are looked up from.
pub(crate) fn directory(scene: &mut Scene<'_>, descriptor: i32) {
    if descriptor == libc::AT_FDCWD {
        scene.put("AT_FDCWD");
        scene.target_of(descriptor);
    } else {
        scene.descriptor(descriptor);
    }
}

/// A signal.
pub(crate) const SIGNAL: Kind = Kind::new(|scene, index| {
    super::signals::signal(scene, scene.argument(index) as i32);
    Outcome::Done
});
