//! The keys of asks, as rows of the one table.

use super::{Asks, Stage};
use crate::console::keys::table::row;
use crate::console::keys::{Action as A, Context as C, Row};

#[rustfmt::skip]
pub const ASK_KEYS: &[Row] = &[
    row(C::Ask, "y 1",      A::AllowOnce,       "yes, once").footer("yes"),
    row(C::Ask, "w",        A::AllowWithRemark, "yes, with a remark to the agent; an answer in your own words"),
    row(C::Ask, "a 2",      A::AllowAlways,     "yes, and don't ask again: choose for whom, what and how long").footer("always"),
    row(C::Ask, "e",        A::EditInput,       "edit the input first, then yes"),
    row(C::Ask, "n 3",      A::Deny,            "no").footer("no"),
    row(C::Ask, "<tab>",    A::DenyWithWords,   "no, and tell the agent what to do instead").footer("no, but"),
    row(C::Ask, "*",        A::MarkAlike,       "mark all like it in the queue; then yes or no answers them all"),
    row(C::Ask, "o",        A::GoToAsker,       "go to the agent that asks"),
    row(C::Ask, "d",        A::FullView,        "the diff or command over the whole screen").footer("full"),
    row(C::Ask, "<ret>",    A::Submit,          "take the selected option"),
    row(C::Ask, "<up>",     A::Up,              "scroll up; previous option"),
    row(C::Ask, "<down>",   A::Down,            "scroll down; next option"),
    row(C::Ask, "<left>",   A::Left,            "previous ask or question"),
    row(C::Ask, "<right>",  A::Right,           "next ask or question"),
    row(C::Ask, "<C-u>",    A::HalfPageUp,      "half a page up"),
    row(C::Ask, "<C-d>",    A::HalfPageDown,    "half a page down"),
    row(C::Ask, "<home>",   A::Top,             "to the top"),
    row(C::Ask, "<end>",    A::Bottom,          "to the end"),
    row(C::Ask, "<backspace>", A::Backspace,    "undo the key just pressed"),
    row(C::Ask, "<esc>",    A::Later,           "later: back to the queue, never an answer").footer("later"),

    row(C::AskWords, "<ret>",                 A::Submit,  "answer with this").footer("answer"),
    row(C::AskWords, "<C-j> <S-ret> <A-ret>", A::Newline, "new line").footer("new line"),
    row(C::AskWords, "<esc>",                 A::Later,   "back to the request").footer("back"),

    row(C::AskScope, "a y <ret>", A::Take,      "grant the rule shown").footer("grant it"),
    row(C::AskScope, "<up>",      A::Up,        "a narrower rule").footer("what"),
    row(C::AskScope, "<down>",    A::Down,      "a wider rule"),
    row(C::AskScope, "<left>",    A::Left,      "for a shorter time"),
    row(C::AskScope, "<right>",   A::Right,     "for a longer time").footer("how long"),
    row(C::AskScope, "<tab>",     A::NextField, "this agent, or the whole team").footer("who"),
    row(C::AskScope, "<esc>",     A::Later,     "back to the request").footer("back"),
];

impl Asks {
    /// Where keys are read while an ask is shown, from the inside outwards.
    pub fn contexts(&self) -> Option<&'static [C]> {
        Some(match &self.dialog.as_ref()?.stage {
            Stage::Choices | Stage::Gone { .. } => &[C::Ask],
            Stage::Scope(_) => &[C::AskScope],
            Stage::Remark | Stage::Instead | Stage::Edit(_) | Stage::Own(_) => {
                &[C::AskWords, C::Composer]
            }
        })
    }
}
