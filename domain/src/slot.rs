//! The slots of a cluster: the slot of a key, and a short tag for every slot.
//!
//! Source: the cluster specification of Redis, "Key distribution model".

use super::hash_tag::tag_of;

/// One of the 16384 slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u16);

impl Slot {
    /// Bits of a slot number.
    pub const BITS: u32 = 14;

    /// The slot of `key` in a cluster.
    pub fn of(key: &[u8]) -> Self {
        Self(crc16(tag_of(key).unwrap_or(key)) & ((1 << Self::BITS) - 1))
    }

    pub fn number(self) -> u16 {
        self.0
    }

    /// Six digits in this slot: always the same for a slot, and different for different slots.
    pub fn tag(self) -> [u8; 6] {
        let turned =
            TURNS.iter().enumerate().filter(|(bit, _)| (self.0 >> bit) & 1 == 1).map(|(_, t)| t);
        let mut rest = turned.fold(ZERO, |bits, turn| bits ^ turn);
        let mut tag = [b'0'; 6];
        for digit in tag.iter_mut().rev() {
            *digit |= (rest & 7) as u8;
            rest >>= 3;
        }
        tag
    }
}

/// The tag of slot 0, as the octal number that it spells.
const ZERO: u32 = 0o242353;

/// For each bit of a slot's number, the bits of the tag to flip so that only this bit flips.
///
/// The checksum is linear: flipping a bit of the text flips the same bits of the checksum, whatever
/// else the text contains. The low three bits of each digit from 0 to 7 are free, 18 in total;
/// elimination over the bits that each of them flips gave these numbers. The test tries every slot.
const TURNS: [u32; Slot::BITS as usize] = [
    0o240607, 0o061230, 0o041324, 0o042553, 0o200233, 0o201162, 0o221743, 0o041320, 0o001104,
    0o041657, 0o240717, 0o061010, 0o041764, 0o240571,
];

/// CRC-16/XMODEM: the polynomial 0x1021, initial value 0, nothing reflected. One byte at a time,
/// without a table: shifts add the remainders of the byte's bits.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let top = (crc >> 8) ^ u16::from(*byte);
        let top = top ^ (top >> 4);
        (crc << 8) ^ (top << 12) ^ (top << 5) ^ top
    })
}

#[cfg(test)]
mod tests {
    use super::{Slot, crc16};
    use std::collections::HashSet;

    #[test]
    fn the_checksum_is_the_specified_one() {
        assert_eq!(crc16(b""), 0);
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }

    #[test]
    fn keys_are_in_the_slots_that_servers_say() {
        // The replies of CLUSTER KEYSLOT.
        for (key, want) in [
            (&b"somekey"[..], 11058),
            (b"foo{hash_tag}", 2515),
            (b"bar{hash_tag}", 2515),
            (b"7", 1716),
            (b"foo", 12182),
            (b"order", 16025),
            (b"", 0),
        ] {
            assert_eq!(Slot::of(key).number(), want, "{:?}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn every_slot_has_a_tag_of_its_own() {
        let mut tags = HashSet::new();
        for number in 0..1 << Slot::BITS {
            let tag = Slot(number).tag();
            assert_eq!(Slot::of(&tag), Slot(number));
            assert!(tag.iter().all(u8::is_ascii_digit));
            assert!(tags.insert(tag));
        }
    }
}
