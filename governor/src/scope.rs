//! Whom a call is charged to: provider / account / region / service / operation.

mod verb;

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
pub use verb::{UnknownVerb, Verb};

/// Where a call goes, as far as limits are concerned.
///
/// The text form is `provider/account/region/service/operation`, for instance
/// `aws/123456789012/eu-west-1/ec2/DescribeVpcs`. A missing part is `*`, a missing operation is left off. Google's
/// accounts keep their own slash (`gcp/projects/my-project/*/cloudasset/ListAssets`); any other slash inside a part
/// is percent-encoded, so that every scope survives [`to_string`](ToString::to_string) and
/// [`parse`](str::parse) unchanged.
///
/// Where a service counts its reads, writes and deletes apart, as Azure Resource Manager does, a scope has a [`Verb`]
/// too. It stands behind the service: `azure/<subscription>/*/network:read/VirtualNetworks.listAll`. Calls that differ
/// in it share no bucket and no breaker, and **a call made by hand without a verb lands in the scope that has none**: to
/// be paced with a plugin's calls it must name the verb that they have. A colon in a service's own name is
/// percent-encoded where it would read as a verb's.
///
/// A scope is cheap to clone. The provider is kept in lower case; the other parts are kept as given.
///
/// ```
/// use cloud_governor::Scope;
///
/// let scope = Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation("DescribeVpcs");
/// assert_eq!(scope.to_string(), "aws/123456789012/eu-west-1/ec2/DescribeVpcs");
/// assert_eq!("aws/123456789012/eu-west-1/ec2/DescribeVpcs".parse::<Scope>().unwrap(), scope);
/// assert_eq!(scope.service_scope().to_string(), "aws/123456789012/eu-west-1/ec2");
/// assert_eq!(scope.account_scope().to_string(), "aws/123456789012/*/*");
///
/// use cloud_governor::Verb;
///
/// let reads = Scope::new("azure", "subscription-id", "", "network").with_verb(Verb::Read);
/// assert_eq!(reads.with_operation("VirtualNetworks.listAll").service_scope(), reads);
/// assert_eq!(reads.to_string(), "azure/subscription-id/*/network:read");
/// ```
#[derive(Clone)]
pub struct Scope {
    parts: Arc<Parts>,
}

/// Every part in one text, and its hash: a scope is looked up far more often than it is made.
#[derive(PartialEq, Eq)]
struct Parts {
    hash: u64,
    /// Where provider, account, region and service end. One letter for the verb follows, and the operation, empty where
    /// there is none.
    ends: [u32; 4],
    text: Box<str>,
}

const MISSING: &str = "*";
const RESOURCE_ACCOUNTS: [&str; 3] = ["projects", "organizations", "folders"];

/// What a part's text may not hold as it is. Non-ASCII text is encoded by `utf8_percent_encode` itself.
const RESERVED: &AsciiSet = &CONTROLS.add(b'/').add(b'%').add(b'*').add(b' ');

impl Scope {
    /// A scope without an operation. An empty part, or `*`, is a missing one.
    pub fn new(
        provider: impl AsRef<str>,
        account: impl AsRef<str>,
        region: impl AsRef<str>,
        service: impl AsRef<str>,
    ) -> Self {
        let provider = known(provider.as_ref()).to_ascii_lowercase();
        Scope::of([&provider, known(account.as_ref()), known(region.as_ref()), known(service.as_ref()), ""], None)
    }

    fn of(parts: [&str; 5], verb: Option<Verb>) -> Self {
        // Keyed anew in every process, so that nobody can choose names that collide.
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let mut end = 0;
        let [provider, account, region, service, operation] = parts;
        let text = [provider, account, region, service, letter(verb), operation].concat();
        let ends = [provider, account, region, service].map(|part| {
            end += part.len();
            u32::try_from(end).unwrap_or(u32::MAX)
        });
        Scope { parts: Arc::new(Parts { hash: KEYS.hash_one((parts, verb)), ends, text: text.into() }) }
    }

    /// A hash of the whole scope, made when the scope was.
    pub(crate) fn hash_value(&self) -> u64 {
        self.parts.hash
    }

    /// This scope with the operation set; an empty operation, or `*`, takes it off.
    #[must_use]
    pub fn with_operation(&self, operation: impl AsRef<str>) -> Self {
        let operation = match operation.as_ref() {
            MISSING => "",
            operation => operation,
        };
        Scope::of([self.provider(), self.account(), self.region(), self.service(), operation], self.verb())
    }

    /// This scope with the verb set, or taken off by `None`.
    #[must_use]
    pub fn with_verb(&self, verb: impl Into<Option<Verb>>) -> Self {
        let operation = self.operation().unwrap_or_default();
        Scope::of([self.provider(), self.account(), self.region(), self.service(), operation], verb.into())
    }

    fn by_part(&self) -> ([&str; 4], Option<Verb>, Option<&str>) {
        let service = [self.provider(), self.account(), self.region(), self.service()];
        (service, self.verb(), self.operation())
    }

    /// The cloud or API, in lower case: `aws`, `azure`, `gcp`, `github`, ..; `*` if missing.
    pub fn provider(&self) -> &str {
        self.parts.between(0, self.parts.ends[0])
    }

    /// The account, subscription or project; `*` if missing.
    pub fn account(&self) -> &str {
        self.parts.between(self.parts.ends[0], self.parts.ends[1])
    }

    /// The region; `*` if missing.
    pub fn region(&self) -> &str {
        self.parts.between(self.parts.ends[1], self.parts.ends[2])
    }

    /// The service; `*` if missing.
    pub fn service(&self) -> &str {
        self.parts.between(self.parts.ends[2], self.parts.ends[3])
    }

    /// What its calls do, where the service's limits go by that.
    pub fn verb(&self) -> Option<Verb> {
        let letter = self.parts.between(self.parts.ends[3], self.parts.ends[3].saturating_add(1));
        Verb::ALL.into_iter().find(|verb| self::letter(Some(*verb)) == letter)
    }

    /// The API operation, if there is one.
    pub fn operation(&self) -> Option<&str> {
        let operation = self.parts.text.get(self.parts.ends[3] as usize + 1..).unwrap_or_default();
        Some(operation).filter(|operation| !operation.is_empty())
    }

    /// Whether this is the scope of a bucket that `scope` may share: each part is missing or the same, but for the operation,
    /// in whose place its name stands.
    pub(crate) fn is_shared_by(&self, scope: &Scope) -> bool {
        let parts =
            [(self.account(), scope.account()), (self.region(), scope.region()), (self.service(), scope.service())];
        let is_verb = self.verb().is_none_or(|verb| scope.verb() == Some(verb));
        self.provider() == scope.provider()
            && is_verb
            && parts.iter().all(|(own, other)| *own == MISSING || own == other)
    }

    /// This scope without its operation; it keeps its verb.
    #[must_use]
    pub fn service_scope(&self) -> Self {
        match self.operation() {
            None => self.clone(),
            Some(_) => self.with_operation(""),
        }
    }

    /// The provider and the account alone: what a concurrency cap belongs to.
    #[must_use]
    pub fn account_scope(&self) -> Self {
        Scope::new(self.provider(), self.account(), MISSING, MISSING)
    }
}

impl Parts {
    fn between(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// In a scope's parts, where a field of its own would take eight bytes of every scope.
fn letter(verb: Option<Verb>) -> &'static str {
    match verb {
        None => "-",
        Some(Verb::Read) => "r",
        Some(Verb::Write) => "w",
        Some(Verb::Delete) => "d",
    }
}

fn known(part: &str) -> &str {
    if part.is_empty() { MISSING } else { part }
}

// ===== text =====

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_part(f, self.provider())?;
        f.write_str("/")?;
        write_account(f, self.account())?;
        f.write_str("/")?;
        write_part(f, self.region())?;
        f.write_str("/")?;
        write_service(f, self.service())?;
        if let Some(verb) = self.verb() {
            write!(f, ":{verb}")?;
        }
        if let Some(operation) = self.operation() {
            f.write_str("/")?;
            write_part(f, operation)?;
        }
        Ok(())
    }
}

fn write_part(f: &mut fmt::Formatter<'_>, part: &str) -> fmt::Result {
    match part {
        MISSING => f.write_str(MISSING),
        _ => write!(f, "{}", utf8_percent_encode(part, RESERVED)),
    }
}

/// A name that ends as if a verb followed has that colon encoded.
fn write_service(f: &mut fmt::Formatter<'_>, service: &str) -> fmt::Result {
    match Verb::split(service) {
        Some((name, verb)) => write!(f, "{}%3A{verb}", utf8_percent_encode(name, RESERVED)),
        None => write_part(f, service),
    }
}

fn write_account(f: &mut fmt::Formatter<'_>, account: &str) -> fmt::Result {
    if let Some((kind, id)) = account.split_once('/')
        && RESOURCE_ACCOUNTS.contains(&kind)
    {
        return write!(f, "{kind}/{}", utf8_percent_encode(id, RESERVED));
    }
    // An account that is nothing but the keyword would read as the start of a two-part one.
    if RESOURCE_ACCOUNTS.contains(&account) {
        let first = account.as_bytes()[0];
        return write!(f, "%{first:02X}{}", &account[1..]);
    }
    write_part(f, account)
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({self})")
    }
}

/// A text that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseScopeError {
    text: String,
    why: &'static str,
}

impl fmt::Display for ParseScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a scope: {}", self.text, self.why)
    }
}

impl std::error::Error for ParseScopeError {}

impl FromStr for Scope {
    type Err = ParseScopeError;

    fn from_str(text: &str) -> Result<Self, ParseScopeError> {
        let fail = |why| ParseScopeError { text: text.to_owned(), why };
        let segments: Vec<&str> = text.split('/').collect();
        let two_part_account = segments.get(1).is_some_and(|kind| RESOURCE_ACCOUNTS.contains(kind));
        let (provider, account, rest) = match segments.as_slice() {
            // Whatever follows the keyword's slash is the id, an empty one too.
            [provider, kind, id, rest @ ..] if two_part_account => {
                let id = if id.is_empty() { String::new() } else { decode(id).map_err(fail)? };
                (*provider, format!("{kind}/{id}"), rest)
            }
            [provider, account, rest @ ..] => (*provider, decode(account).map_err(fail)?, rest),
            _ => return Err(fail("it has fewer than four parts")),
        };
        let (region, service, operation) = match rest {
            [region, service] => (region, service, None),
            [region, service, operation] => (region, service, Some(operation)),
            [] | [_] => return Err(fail("it has fewer than four parts")),
            _ => return Err(fail("it has more than five parts")),
        };
        let part = |segment: &str| decode(segment).map_err(fail);
        let (service, verb) = match Verb::split(service) {
            Some((service, verb)) => (service, Some(verb)),
            None => (*service, None),
        };
        let scope = Scope::new(part(provider)?, account, part(region)?, part(service)?).with_verb(verb);
        match operation {
            Some(operation) => Ok(scope.with_operation(part(operation)?)),
            None => Ok(scope),
        }
    }
}

fn decode(segment: &str) -> Result<String, &'static str> {
    if segment.is_empty() {
        return Err("a part is empty (write * for a missing one)");
    }
    let decoded = percent_decode_str(segment).decode_utf8().map_err(|_| "a part is not UTF-8 once decoded")?;
    Ok(decoded.into_owned())
}

// ===== identity =====

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) || self.parts == other.parts
    }
}

impl Eq for Scope {}

impl Hash for Scope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.parts.hash);
    }
}

impl PartialOrd for Scope {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scope {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.by_part().cmp(&other.by_part())
    }
}

impl serde::Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
