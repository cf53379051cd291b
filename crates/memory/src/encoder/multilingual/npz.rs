//! NumPy archives (`.npz`): a ZIP file with one array in NumPy's format per entry.

use std::collections::BTreeMap;

/// The marks of a ZIP file's parts.
const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The sizes of the fixed fields before an entry's name.
const ENTRY_HEAD: usize = 46;
const LOCAL_HEAD: usize = 30;
/// The methods of the zip format that are read.
const STORED: usize = 0;
const DEFLATED: usize = 8;

/// The start of an array.
const MAGIC: &[u8] = b"\x93NUMPY";

/// An array of numbers.
#[derive(Debug)]
pub(super) struct Array {
    /// The type of the numbers, such as `<f4`.
    kind: String,
    bytes: Vec<u8>,
}

impl Array {
    /// Returns the numbers of an array of bytes.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        (self.kind == "|u1").then_some(self.bytes)
    }

    /// Returns the numbers of an array of 32-bit floats.
    pub(super) fn floats(&self) -> Option<Vec<f32>> {
        let (numbers, rest) = self.bytes.as_chunks::<4>();
        let floats = || numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (self.kind == "<f4" && rest.is_empty()).then(floats)
    }
}

/// Reads all arrays of an archive, by name. Returns `None` if it is not one.
pub(super) fn read(archive: &[u8]) -> Option<BTreeMap<String, Array>> {
    let end = archive.windows(END.len()).rposition(|window| window == END)?;
    let count = number(archive, end + 10, 2)?;
    let mut at = number(archive, end + 16, 4)?;
    let mut arrays = BTreeMap::new();
    for _ in 0..count {
        let entry = archive.get(at..).filter(|entry| entry.starts_with(&ENTRY))?;
        let field = |offset: usize, size: usize| number(entry, offset, size);
        let name_size = field(28, 2)?;
        let file = entry.get(ENTRY_HEAD..ENTRY_HEAD + name_size)?;
        let name = std::str::from_utf8(file).ok()?.trim_end_matches(".npy");
        let data = content(archive, field(42, 4)?, field(20, 4)?)?;
        let bytes = match field(10, 2)? {
            STORED => data.to_vec(),
            DEFLATED => {
                miniz_oxide::inflate::decompress_to_vec_with_limit(data, field(24, 4)?).ok()?
            }
            _ => return None,
        };
        arrays.insert(name.to_owned(), array(bytes)?);
        at += ENTRY_HEAD + name_size + field(30, 2)? + field(32, 2)?;
    }
    Some(arrays)
}

/// Returns the compressed content of an entry.
fn content(archive: &[u8], at: usize, size: usize) -> Option<&[u8]> {
    let local = archive.get(at..).filter(|local| local.starts_with(&LOCAL))?;
    let start = LOCAL_HEAD + number(local, 26, 2)? + number(local, 28, 2)?;
    local.get(start..start.checked_add(size)?)
}

/// Splits an array into its type and its numbers.
fn array(bytes: Vec<u8>) -> Option<Array> {
    let is_array = bytes.starts_with(MAGIC);
    // Version 1 has two bytes for the length of the header, later ones have four.
    let size: usize = if bytes.get(6).copied()? == 1 { 2 } else { 4 };
    let start = 8 + size;
    let end = start.checked_add(number(&bytes, 8, size)?)?;
    let header = std::str::from_utf8(bytes.get(start..end)?).ok().filter(|_| is_array)?;
    let (_, kind) = header.split_once("'descr': '")?;
    let (kind, _) = kind.split_once('\'')?;
    let is_by_rows = header.contains("'fortran_order': False");
    is_by_rows.then(|| Array { kind: kind.to_owned(), bytes: bytes.split_at(end).1.to_vec() })
}

/// Reads a number of a few bytes, the smallest first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an array in NumPy's format.
    pub(crate) fn encoded(kind: &str, numbers: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (), }}\n");
        let size = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &size, header.as_bytes(), numbers].concat()
    }

    /// Returns an archive with compressed entries.
    pub(crate) fn archive(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        let long = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let short = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        for (name, bytes) in entries {
            let packed = miniz_oxide::deflate::compress_to_vec(bytes, 1);
            let name = format!("{name}.npy");
            let sizes = [long(packed.len()), long(bytes.len())].concat();
            let names = short(name.len());
            directory.extend([&ENTRY[..], &[0; 6], &short(DEFLATED), &[0; 8], &sizes].concat());
            directory.extend([&names[..], &[0; 12], &long(out.len()), name.as_bytes()].concat());
            out.extend([&LOCAL[..], &[0; 4], &short(DEFLATED), &[0; 8], &sizes].concat());
            out.extend([&names[..], &[0; 2], name.as_bytes(), &packed].concat());
        }
        let count = short(entries.len());
        let start = long(out.len());
        out.extend(&directory);
        out.extend(
            [&END[..], &[0; 4], &count, &count, &long(directory.len()), &start, &[0; 2]].concat(),
        );
        out
    }

    #[test]
    fn arrays_of_an_archive_are_read() {
        let floats: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
        let archive = archive(&[("a", encoded("<f4", &floats)), ("b", encoded("|u1", &[1, 2, 3]))]);
        let mut arrays = read(&archive).unwrap();
        assert_eq!(arrays["a"].floats().unwrap(), [1.5, -2.0]);
        assert_eq!(arrays["b"].floats(), None);
        assert_eq!(arrays.remove("b").unwrap().into_bytes().unwrap(), [1, 2, 3]);
        // The last two bytes are the size of a comment, which is not read.
        for end in 0..archive.len() - 2 {
            assert!(read(&archive[..end]).is_none(), "the first {end} bytes are not an archive");
        }
    }
}
