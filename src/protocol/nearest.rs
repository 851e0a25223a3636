//! Which word was meant, where somebody wrote one that does not exist.

/// The known word that was probably meant, whatever its case.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let far = |near: &str| strsim::damerau_levenshtein(&word, &near.to_lowercase());
    let best = known.into_iter().min_by_key(|near| far(near))?;
    // More than a third of the word wrong is another word.
    (far(best) <= 1 + word.chars().count() / 4).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_was_meant_is_near() {
        let known = ["when", "say", "call", "WebFetch"];
        assert_eq!(nearest("wen", known), Some("when"));
        assert_eq!(nearest("Say", known), Some("say"));
        assert_eq!(nearest("clal", known), Some("call"));
        assert_eq!(nearest("web_fetch", known), Some("WebFetch"));
        assert_eq!(nearest("temperature", known), None);
    }
}
