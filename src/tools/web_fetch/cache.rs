//! Pages that were fetched a moment ago, so that a second question about one costs no request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was in the end, after redirects.
    pub url: String,
    pub text: Arc<str>,
    /// How many bytes came over the wire.
    pub bytes: usize,
    /// Whether all of it came.
    pub whole: bool,
}

/// Pages by the address that was asked for, oldest first. Bounded in bytes and in time.
#[derive(Debug)]
pub struct Cache {
    kept: VecDeque<(String, Instant, Page)>,
    bytes: usize,
    most: usize,
    fresh: Duration,
}

impl Cache {
    pub fn new(most: usize, fresh: Duration) -> Self {
        Self { kept: VecDeque::new(), bytes: 0, most, fresh }
    }

    pub fn get(&mut self, url: &str) -> Option<Page> {
        while self.kept.front().is_some_and(|(_, at, _)| at.elapsed() >= self.fresh) {
            self.drop_oldest();
        }
        self.kept.iter().find(|(key, _, _)| key == url).map(|(_, _, page)| page.clone())
    }

    pub fn put(&mut self, url: &str, page: Page) {
        let known = self.kept.iter().position(|(key, _, _)| key == url);
        if let Some((_, _, old)) = known.and_then(|at| self.kept.remove(at)) {
            self.bytes -= old.text.len();
        }
        self.bytes += page.text.len();
        self.kept.push_back((url.to_owned(), Instant::now(), page));
        while self.bytes > self.most {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, _, page)) = self.kept.pop_front() {
            self.bytes -= page.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { url: String::new(), text: text.into(), bytes: text.len(), whole: true }
    }

    #[test]
    fn the_oldest_go_when_there_is_no_room() {
        let mut cache = Cache::new(10, Duration::from_secs(60));
        cache.put("a", page("1234"));
        cache.put("b", page("1234"));
        cache.put("a", page("12"));
        assert_eq!(cache.get("a"), Some(page("12")));
        cache.put("c", page("12345"));
        assert_eq!((cache.get("b"), cache.get("c")), (None, Some(page("12345"))));
        cache.put("d", page("more than fits at all"));
        assert_eq!((cache.get("a"), cache.get("d"), cache.bytes), (None, None, 0));
    }

    #[test]
    fn what_is_old_is_not_handed_out() {
        let mut cache = Cache::new(10, Duration::ZERO);
        cache.put("a", page("1"));
        assert_eq!((cache.get("a"), cache.bytes), (None, 0));
    }
}
