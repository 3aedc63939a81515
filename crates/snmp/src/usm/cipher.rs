//! Privacy: DES and 3DES in CBC mode (RFC 3414 section 8, draft-reeder-snmpv3-usm-3desede-00), AES in
//! CFB mode (RFC 3826).

use aes::cipher::consts::{U8, U16};
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit as _};
use aes::{Aes128, Aes192, Aes256};
use des::{Des, TdesEde3};

/// Bytes of the salt in a message.
pub(crate) const SALT_BYTES: usize = 8;

/// How messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivacyProtocol {
    /// RFC 3414: CBC-DES.
    Des,
    /// CBC-3DES-EDE.
    TripleDes,
    /// RFC 3826: CFB128-AES-128.
    Aes128,
    /// CFB128-AES-192.
    Aes192,
    /// CFB128-AES-256.
    Aes256,
}

impl PrivacyProtocol {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Des, Self::TripleDes, Self::Aes128, Self::Aes192, Self::Aes256];

    /// Bytes of a localized key, with the initial vector that those of DES contain.
    #[must_use]
    pub fn key_bytes(self) -> usize {
        match self {
            Self::Des | Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::TripleDes | Self::Aes256 => 32,
        }
    }
}

/// An expanded key.
#[derive(Clone, Debug)]
pub(crate) enum CipherKey {
    Des(Box<Des>, [u8; 8]),
    TripleDes(Box<TdesEde3>, [u8; 8]),
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

/// What a message says about its encryption.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CipherInput {
    pub(crate) boots: i32,
    pub(crate) time: i32,
    pub(crate) salt: [u8; SALT_BYTES],
}

impl CipherKey {
    /// From a key of at least [`PrivacyProtocol::key_bytes`] bytes; `None` if it is shorter.
    pub(crate) fn new(protocol: PrivacyProtocol, key: &[u8]) -> Option<Self> {
        let key = key.get(..protocol.key_bytes())?;
        let vector = |at: usize| key[at..].first_chunk::<8>().copied();
        Some(match protocol {
            PrivacyProtocol::Des => {
                Self::Des(Box::new(Des::new_from_slice(&key[..8]).ok()?), vector(8)?)
            }
            PrivacyProtocol::TripleDes => {
                Self::TripleDes(Box::new(TdesEde3::new_from_slice(&key[..24]).ok()?), vector(24)?)
            }
            PrivacyProtocol::Aes128 => Self::Aes128(Box::new(Aes128::new_from_slice(key).ok()?)),
            PrivacyProtocol::Aes192 => Self::Aes192(Box::new(Aes192::new_from_slice(key).ok()?)),
            PrivacyProtocol::Aes256 => Self::Aes256(Box::new(Aes256::new_from_slice(key).ok()?)),
        })
    }

    /// Whole blocks of this many bytes are encrypted.
    pub(crate) fn block_bytes(&self) -> usize {
        match self {
            Self::Des(..) | Self::TripleDes(..) => 8,
            _ => 1,
        }
    }

    /// The salt of a message, from a number that is used once.
    pub(crate) fn salt(&self, boots: i32, number: u64) -> [u8; SALT_BYTES] {
        if self.block_bytes() == 1 {
            return number.to_be_bytes();
        }
        let mut salt = [0; SALT_BYTES];
        salt[..4].copy_from_slice(&boots.to_be_bytes());
        salt[4..].copy_from_slice(&(number as u32).to_be_bytes());
        salt
    }

    /// Encrypts in place; DES needs whole blocks.
    pub(crate) fn encrypt(&self, input: CipherInput, data: &mut [u8]) {
        match self {
            Self::Des(key, vector) => cbc_encrypt(&**key, xor(input.salt, *vector), data),
            Self::TripleDes(key, vector) => cbc_encrypt(&**key, xor(input.salt, *vector), data),
            Self::Aes128(key) => cfb_encrypt(&**key, cfb_vector(input), data),
            Self::Aes192(key) => cfb_encrypt(&**key, cfb_vector(input), data),
            Self::Aes256(key) => cfb_encrypt(&**key, cfb_vector(input), data),
        }
    }

    /// Decrypts in place; `false` if there are not only whole blocks.
    pub(crate) fn decrypt(&self, input: CipherInput, data: &mut [u8]) -> bool {
        if data.is_empty() || !data.len().is_multiple_of(self.block_bytes()) {
            return false;
        }
        match self {
            Self::Des(key, vector) => cbc_decrypt(&**key, xor(input.salt, *vector), data),
            Self::TripleDes(key, vector) => cbc_decrypt(&**key, xor(input.salt, *vector), data),
            Self::Aes128(key) => cfb_decrypt(&**key, cfb_vector(input), data),
            Self::Aes192(key) => cfb_decrypt(&**key, cfb_vector(input), data),
            Self::Aes256(key) => cfb_decrypt(&**key, cfb_vector(input), data),
        }
        true
    }
}

fn xor(salt: [u8; 8], vector: [u8; 8]) -> [u8; 8] {
    (u64::from_ne_bytes(salt) ^ u64::from_ne_bytes(vector)).to_ne_bytes()
}

fn cfb_vector(input: CipherInput) -> [u8; 16] {
    let mut vector = [0; 16];
    vector[..4].copy_from_slice(&input.boots.to_be_bytes());
    vector[4..8].copy_from_slice(&input.time.to_be_bytes());
    vector[8..].copy_from_slice(&input.salt);
    vector
}

fn cbc_encrypt<C>(key: &C, mut vector: [u8; 8], data: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U8>,
{
    for piece in data.as_chunks_mut::<8>().0 {
        let mut block = Array(xor(*piece, vector));
        key.encrypt_block(&mut block);
        *piece = block.0;
        vector = block.0;
    }
}

fn cbc_decrypt<C>(key: &C, mut vector: [u8; 8], data: &mut [u8])
where
    C: BlockCipherDecrypt + BlockSizeUser<BlockSize = U8>,
{
    for piece in data.as_chunks_mut::<8>().0 {
        let mut block = Array(*piece);
        key.decrypt_block(&mut block);
        *piece = xor(block.0, std::mem::replace(&mut vector, *piece));
    }
}

fn cfb_encrypt<C>(key: &C, vector: [u8; 16], data: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let mut stream = Array(vector);
    for piece in data.chunks_mut(16) {
        key.encrypt_block(&mut stream);
        for (byte, mask) in piece.iter_mut().zip(&mut stream.0) {
            *byte ^= *mask;
            *mask = *byte;
        }
    }
}

/// Blocks that are decrypted at once, as the processor's pipeline likes.
const AT_ONCE: usize = 8;

fn cfb_decrypt<C>(key: &C, vector: [u8; 16], data: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let mut before = vector;
    for run in data.chunks_mut(16 * AT_ONCE) {
        // Each block is masked with the encryption of the one before it, which is known already.
        let mut stream = [Array([0; 16]); AT_ONCE];
        stream[0].0 = before;
        let (whole, _) = run.as_chunks::<16>();
        for (mask, piece) in stream[1..].iter_mut().zip(whole) {
            mask.0 = *piece;
        }
        before = whole.last().copied().unwrap_or_default();
        key.encrypt_blocks(&mut stream[..run.len().div_ceil(16)]);
        for (piece, mask) in run.chunks_mut(16).zip(&stream) {
            piece.iter_mut().zip(&mask.0).for_each(|(byte, mask)| *byte ^= mask);
        }
    }
}
