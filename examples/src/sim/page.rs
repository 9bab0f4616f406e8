//! Pages of a list, and the opaque tokens between them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::Leaf;

/// The token is not one that this list gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadToken;

/// One list that is read in pages: which operation in which place, and with which filter.
///
/// A token holds the place to go on from and a check made of the list, so that a token of another list, or one made
/// up, is noticed. The server remembers nothing.
pub(crate) struct List<'a> {
    pub(crate) leaf: &'a Leaf,
    pub(crate) filter: &'a [&'a str],
}

impl List<'_> {
    /// The rows of the page and the token of the next, if there is one.
    pub(crate) fn page(
        &self,
        rows: usize,
        size: u32,
        token: Option<&str>,
    ) -> Result<(Range<usize>, Option<String>), BadToken> {
        let from = token.map_or(Ok(0), |token| self.open(token))?.min(rows);
        let to = from.saturating_add(size as usize).min(rows);
        Ok((from..to, (to < rows).then(|| self.seal(to))))
    }

    fn seal(&self, from: usize) -> String {
        format!("{:016x}{:016x}", self.check(from), from ^ self.check(0) as usize)
    }

    fn open(&self, token: &str) -> Result<usize, BadToken> {
        if token.len() != 32 || !token.is_ascii() {
            return Err(BadToken);
        }
        let (check, from) = token.split_at(16);
        let check = u64::from_str_radix(check, 16).map_err(|_| BadToken)?;
        let from = usize::from_str_radix(from, 16).map_err(|_| BadToken)? ^ self.check(0) as usize;
        if check == self.check(from) { Ok(from) } else { Err(BadToken) }
    }

    fn check(&self, from: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.leaf, self.filter, from).hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(region: &str) -> Leaf {
        Leaf { account: "1".into(), region: region.into(), service: "logs".into(), operation: "Describe".into() }
    }

    proptest! {
        #[test]
        fn pages_cover_every_row_once_and_in_order(rows in 0usize..500, size in 1u32..60) {
            let leaf = leaf("r");
            let list = List { leaf: &leaf, filter: &[] };
            let (mut seen, mut token) = (Vec::new(), None);
            loop {
                let (page, next) = list.page(rows, size, token.as_deref()).expect("a token of this list");
                prop_assert!(page.len() <= size as usize);
                seen.extend(page);
                token = next;
                if token.is_none() { break }
            }
            prop_assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        }

        #[test]
        fn a_made_up_token_is_refused(token in "\\PC*|[0-9a-f]{32}") {
            let leaf = leaf("r");
            prop_assert_eq!(List { leaf: &leaf, filter: &[] }.page(100, 10, Some(&token)), Err(BadToken));
        }
    }

    #[test]
    fn a_token_of_another_list_is_refused() {
        let (here, there) = (leaf("r"), leaf("s"));
        let (_, token) = List { leaf: &here, filter: &["a"] }.page(100, 10, None).expect("no token");
        let token = token.expect("a next page");
        assert!(List { leaf: &here, filter: &["a"] }.page(100, 10, Some(&token)).is_ok());
        assert_eq!(List { leaf: &there, filter: &["a"] }.page(100, 10, Some(&token)), Err(BadToken));
        assert_eq!(List { leaf: &here, filter: &["b"] }.page(100, 10, Some(&token)), Err(BadToken));
    }
}
