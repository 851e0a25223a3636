//! "Yes, and don't ask again": for whom, what, and for how long, with the exact rule.

use crate::protocol::ask::{Ask, Grant, Grantee, Permit, Verdict};
use crate::protocol::scope::{Term, suggested};
use crate::protocol::time::Stamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeMenu {
    /// Narrow first; never empty.
    pub reaches: Vec<Offer>,
    pub at: usize,
    pub to: Grantee,
    pub term: Term,
}

/// One reach, in words and as what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub label: &'static str,
    pub permits: Vec<Permit>,
}

impl Offer {
    /// A mode is the asker's own and lasts as long as the session does.
    fn is_mode(&self) -> bool {
        self.permits.iter().any(|permit| matches!(permit, Permit::Mode(_)))
    }

    /// What is written, in one line.
    pub fn rule(&self) -> String {
        let all: Vec<String> = self.permits.iter().map(ToString::to_string).collect();
        all.join(", ")
    }
}

impl ScopeMenu {
    /// The menu of an ask with what it suggests selected; `None` where nothing can be given.
    pub fn of(ask: &Ask) -> Option<Self> {
        let scopes = ask.scopes.iter();
        let mut reaches: Vec<Offer> = scopes
            .map(|scope| Offer { label: scope.reach.as_str(), permits: scope.permits.clone() })
            .collect();
        for grant in ask.choices.iter().filter_map(|choice| granted(choice.verdict.as_ref()?)) {
            if reaches.iter().all(|known| known.permits != grant.permits) {
                let offer = Offer { label: "as suggested", permits: grant.permits.clone() };
                let label = if offer.is_mode() { "all edits" } else { offer.label };
                reaches.push(Offer { label, ..offer });
            }
        }
        let best = suggested(ask);
        let at = best.and_then(|best| reaches.iter().position(|one| one.permits == best.permits));
        let menu = Self {
            reaches,
            at: at.unwrap_or_default(),
            to: best.map_or(Grantee::Asker, |grant| grant.to),
            term: Term::Session,
        };
        (!menu.reaches.is_empty()).then_some(menu)
    }

    pub fn chosen(&self) -> Option<&Offer> {
        self.reaches.get(self.at)
    }

    pub fn move_reach(&mut self, steps: isize) {
        let last = self.reaches.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(steps).min(last);
    }

    pub fn move_term(&mut self, steps: isize) {
        let at = Term::ALL.iter().position(|term| *term == self.term).unwrap_or_default();
        let next = at.saturating_add_signed(steps).min(Term::ALL.len() - 1);
        self.term = Term::ALL[next];
    }

    pub fn other_grantee(&mut self) {
        self.to = match self.to {
            Grantee::Asker => Grantee::Team,
            Grantee::Team => Grantee::Asker,
        };
    }

    /// For whom and how long it really holds, which what is chosen may narrow or widen.
    pub fn holds(&self) -> (Grantee, Term) {
        match self.chosen() {
            Some(offer) if offer.is_mode() => (Grantee::Asker, Term::Session),
            Some(_) | None => (self.term.grantee(self.to), self.term),
        }
    }

    /// What is given when the yes is said now.
    pub fn grant(&self, now: Stamp) -> Option<Grant> {
        let (to, term) = self.holds();
        Some(Grant { permits: self.chosen()?.permits.clone(), to, lasts: term.lasts(now) })
    }
}

fn granted(verdict: &Verdict) -> Option<&Grant> {
    match verdict {
        Verdict::Allow { grant, .. } => grant.as_ref(),
        Verdict::Deny { .. }
        | Verdict::Chose { .. }
        | Verdict::Answered { .. }
        | Verdict::Withdrawn { .. } => None,
    }
}
