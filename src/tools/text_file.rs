//! What is in a file: text in one of the encodings we can write back, an image, or neither.
//!
//! Invariant: `encode(decode(bytes)) == bytes` for every text, also where bytes are not UTF-8.
//! Those stand in the text as private characters, so an edit elsewhere leaves them as they are.

/// Where bytes that are not UTF-8 stand in a text: this plus the byte, in the last private plane.
const STRAY: u32 = 0x10_EE00;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// With a byte-order mark.
    Utf8Marked,
    Utf16Le,
    Utf16Be,
    /// Mostly text, with bytes that are not UTF-8: Latin-1 and its like.
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub encoding: Encoding,
    /// Without the byte-order mark.
    pub text: String,
}

/// Why a content is not shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    Image(&'static str),
    Pdf,
    /// Holds a NUL at this place.
    Binary(usize),
    BrokenUtf16,
}

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_MARK: &[u8] = b"\xFF\xFE";
const UTF16_BE_MARK: &[u8] = b"\xFE\xFF";

/// How much of the beginning [`image_or_pdf`] looks at.
pub const HEAD: usize = 16;

/// What a content is by its first bytes, whatever its name says.
pub fn image_or_pdf(head: &[u8]) -> Option<NotText> {
    let webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
    Some(match head {
        _ if head.starts_with(b"\x89PNG\r\n\x1a\n") => NotText::Image("image/png"),
        _ if head.starts_with(b"\xFF\xD8\xFF") => NotText::Image("image/jpeg"),
        _ if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") => {
            NotText::Image("image/gif")
        }
        _ if webp => NotText::Image("image/webp"),
        _ if head.starts_with(b"%PDF-") => NotText::Pdf,
        _ => return None,
    })
}

/// Whether a file that begins so cannot be read line by line without decoding it first.
pub fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(UTF16_LE_MARK) || head.starts_with(UTF16_BE_MARK)
}

pub fn decode(bytes: &[u8]) -> Result<Text, NotText> {
    if let Some(other) = image_or_pdf(bytes) {
        return Err(other);
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_LE_MARK) {
        return utf16(rest, Encoding::Utf16Le, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BE_MARK) {
        return utf16(rest, Encoding::Utf16Be, u16::from_be_bytes);
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(NotText::Binary(at));
    }
    let (rest, marked) = match bytes.strip_prefix(UTF8_MARK) {
        Some(rest) => (rest, true),
        None => (bytes, false),
    };
    Ok(match std::str::from_utf8(rest) {
        Ok(text) if marked => Text { encoding: Encoding::Utf8Marked, text: text.to_owned() },
        Ok(text) => Text { encoding: Encoding::Utf8, text: text.to_owned() },
        // A mark is then three bytes like others, and is kept as such.
        Err(_) => Text { encoding: Encoding::Bytes, text: with_strays(bytes) },
    })
}

fn utf16(bytes: &[u8], encoding: Encoding, unit: fn([u8; 2]) -> u16) -> Result<Text, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = String::from_utf16(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>());
    match text {
        Ok(text) if rest.is_empty() => match text.find('\0') {
            Some(at) => Err(NotText::Binary(2 + 2 * at)),
            None => Ok(Text { encoding, text }),
        },
        Ok(_) | Err(_) => Err(NotText::BrokenUtf16),
    }
}

/// Every byte that is not part of a character becomes a private one. So do the bytes of
/// characters that look like such, or they would not come back.
fn with_strays(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_stray(c) {
                let mut buffer = [0; 4];
                text.extend(c.encode_utf8(&mut buffer).bytes().filter_map(stray));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().copied().filter_map(stray));
    }
    text
}

fn stray(byte: u8) -> Option<char> {
    char::from_u32(STRAY + u32::from(byte))
}

fn stray_byte(c: char) -> Option<u8> {
    u32::from(c).checked_sub(STRAY).and_then(|byte| u8::try_from(byte).ok())
}

/// Whether a character stands for a byte in texts of [`Encoding::Bytes`].
pub fn is_stray(c: char) -> bool {
    stray_byte(c).is_some()
}

pub fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf8Marked => [UTF8_MARK, text.as_bytes()].concat(),
        Encoding::Utf16Le => {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            UTF16_LE_MARK.iter().copied().chain(units).collect()
        }
        Encoding::Utf16Be => {
            let units = text.encode_utf16().flat_map(u16::to_be_bytes);
            UTF16_BE_MARK.iter().copied().chain(units).collect()
        }
        Encoding::Bytes => {
            let mut bytes = Vec::with_capacity(text.len());
            let mut buffer = [0; 4];
            for c in text.chars() {
                match stray_byte(c) {
                    Some(byte) => bytes.push(byte),
                    None => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
                }
            }
            bytes
        }
    }
}

/// A text of the encoding as it can be shown: with a mark for each byte that is no text.
pub fn shown(text: &str, encoding: Encoding) -> std::borrow::Cow<'_, str> {
    match encoding {
        Encoding::Bytes => {
            let mark = |c| if is_stray(c) { char::REPLACEMENT_CHARACTER } else { c };
            text.chars().map(mark).collect::<String>().into()
        }
        Encoding::Utf8 | Encoding::Utf8Marked | Encoding::Utf16Le | Encoding::Utf16Be => {
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_back_as_they_were(
            mark in prop::sample::select(vec![&b""[..], UTF8_MARK, UTF16_LE_MARK, UTF16_BE_MARK]),
            bytes in prop::collection::vec(1u8.., 0..60),
        ) {
            let bytes = [mark, &bytes].concat();
            if let Ok(text) = decode(&bytes) {
                prop_assert_eq!(encode(&text.text, text.encoding), bytes);
            }
        }
    }

    #[test]
    fn a_private_character_in_odd_text_comes_back() {
        let bytes = [b"a\xE9b".as_slice(), "\u{10EEE9}".as_bytes()].concat();
        let text = decode(&bytes).unwrap();
        assert_eq!(text.encoding, Encoding::Bytes);
        assert_eq!(encode(&text.text, text.encoding), bytes);
    }
}
