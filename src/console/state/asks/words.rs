//! Answers to questions in words: options taken and own words, one page for each question.

use crate::protocol::ask::Words;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordsForm {
    /// The page; the last one, behind the questions, shows all answers.
    pub page: usize,
    answers: Vec<Answer>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The options that were taken, by place.
    pub taken: Vec<usize>,
    /// What the person wrote, if anything.
    pub own: String,
}

impl WordsForm {
    pub fn new(questions: &[Words]) -> Self {
        Self { page: 0, answers: vec![Answer::default(); questions.len()] }
    }

    pub fn answer(&self, page: usize) -> Option<&Answer> {
        self.answers.get(page)
    }

    pub fn is_review(&self) -> bool {
        self.page >= self.answers.len()
    }

    /// Takes an option: beside others where several may hold, else in their place.
    pub fn take(&mut self, question: &Words, option: usize) {
        let Some(answer) = self.answers.get_mut(self.page) else { return };
        if !question.multi_select {
            *answer = Answer { taken: vec![option], own: String::new() };
        } else if let Some(at) = answer.taken.iter().position(|taken| *taken == option) {
            answer.taken.remove(at);
        } else {
            answer.taken.push(option);
            answer.taken.sort_unstable();
        }
    }

    /// Own words: beside options where several may hold, else in their place.
    pub fn write(&mut self, question: &Words, text: &str) {
        let Some(answer) = self.answers.get_mut(self.page) else { return };
        if !question.multi_select {
            answer.taken.clear();
        }
        answer.own = text.trim().to_owned();
    }

    pub fn is_answered(&self, page: usize) -> bool {
        self.answers.get(page).is_some_and(|one| !one.taken.is_empty() || !one.own.is_empty())
    }

    /// The first question without an answer.
    pub fn missing(&self) -> Option<usize> {
        (0..self.answers.len()).find(|page| !self.is_answered(*page))
    }

    /// To another page; behind the last question there is one more where there are several.
    pub fn turn(&mut self, steps: isize) {
        let last = match self.answers.len() {
            0 | 1 => 0,
            several => several,
        };
        self.page = self.page.saturating_add_signed(steps).min(last);
    }

    /// The answers as they are sent, in the order of the questions.
    pub fn answers(&self, questions: &[Words]) -> Vec<Vec<String>> {
        let one = |(question, answer): (&Words, &Answer)| {
            let taken = answer.taken.iter().filter_map(|at| question.options.get(*at));
            let mut all: Vec<String> = taken.map(|offer| offer.label.clone()).collect();
            if !answer.own.is_empty() {
                all.push(answer.own.clone());
            }
            all
        };
        questions.iter().zip(&self.answers).map(one).collect()
    }
}
