//! The fonts of pictures, part of the program, and which of them has a character.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::{Database, Source};
use skrifa::{FontRef, MetadataProvider as _};

const REGULAR: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Bold.ttf");
const ITALIC: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Italic.ttf");
const SIGNS: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSansMono.ttf");

/// Which font draws a cell. Chosen here: a renderer would take any that has the character, and
/// make a check mark an emoji.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Font {
    Letters,
    /// For the signs that the other one lacks.
    Signs,
}

impl Font {
    pub const fn family(self) -> &'static str {
        match self {
            Self::Letters => "JetBrains Mono",
            Self::Signs => "DejaVu Sans Mono",
        }
    }

    /// `None` where neither has it: such a cell becomes an empty box.
    pub fn having(character: char) -> Option<Self> {
        let has = |data: &[u8]| {
            FontRef::new(data).is_ok_and(|font| font.charmap().map(character).is_some())
        };
        if has(REGULAR) {
            Some(Self::Letters)
        } else if has(SIGNS) {
            Some(Self::Signs)
        } else {
            None
        }
    }
}

/// The fonts as the renderer wants them; no others, whatever is installed.
pub fn database() -> Arc<Database> {
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        for data in [REGULAR, BOLD, ITALIC, SIGNS] {
            fonts.load_font_source(Source::Binary(Arc::new(data)));
        }
        Arc::new(fonts)
    });
    Arc::clone(&FONTS)
}
