//! Which service a host is, and where its account stands.

use std::borrow::Cow;
use std::fmt;

use azure_core::http::Url;

pub(crate) use table::{EMULATOR_PORTS, HOSTS, LABEL_TAILS, REGIONS};

/// The services of identity: what they are called is fixed, since their calls are told apart by it.
pub(crate) const IDENTITY: &str = "identity";
pub(crate) const IMDS: &str = "imds";

/// What a host serves, for hosts that are not Azure's own: a custom domain, a private endpoint, Azure Stack, an emulator
/// on a port of its choice.
///
/// A host is written `files.example.com`, with a port where only that port is meant (`127.0.0.1:10100`, `[::1]:10100`),
/// or `*.files.example.com` for every host under a domain. Case does not matter. The first of several rules that match
/// holds, and every one of them goes before what is built in.
///
/// A service is named as scopes name it: `storage.blob`, `storage.queue`, `storage.table`, `storage.file`,
/// `storage.dfs`, `keyvault`, `cosmos`, `servicebus`, `appconfig`, or a name of your own.
///
/// ```
/// use cloud_governor_azure::HostRule;
///
/// # fn main() -> Result<(), cloud_governor_azure::HostRuleError> {
/// let rules = [
///     // A custom domain of one storage account.
///     HostRule::fixed_account("assets.example.com", "storage.blob", "contosoassets")?,
///     // Azurite on a port that the test chose: the account is the first segment of the path.
///     HostRule::account_in_path("127.0.0.1:10100", "storage.blob")?,
///     // Azure Stack Hub: the account is the label before the domain.
///     HostRule::account_in_label("*.blob.local.azurestack.external", "storage.blob")?,
///     HostRule::arm("management.local.azurestack.external")?,
///     HostRule::identity("adfs.local.azurestack.external")?,
/// ];
/// # let _ = rules;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    pub(crate) at: At,
    pub(crate) serves: Serves,
}

/// Which hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At {
    /// In lower case, as a parsed URL has it. A domain begins with its dot.
    name: Cow<'static, str>,
    /// `None`: any port.
    port: Option<u16>,
}

/// What is served there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Serves {
    /// Azure Resource Manager.
    Arm,
    /// Tokens, by tenant.
    Identity,
    /// Tokens and facts of the machine itself.
    Imds,
    /// A service of this name.
    Service(Cow<'static, str>, AccountAt),
}

/// Where the account stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccountAt {
    /// The first label of the host.
    Label,
    /// The first segment of the path.
    Path,
    /// Nowhere: it is the tenant or subscription that the install knows, or does not.
    Install,
    Fixed(Cow<'static, str>),
}

impl HostRule {
    /// The service of a host whose account is the first segment of the path, as emulators have it.
    ///
    /// # Errors
    ///
    /// A [`HostRuleError`] says which of the texts cannot be used.
    pub fn account_in_path(host: impl AsRef<str>, service: impl AsRef<str>) -> Result<Self, HostRuleError> {
        Self::of(host.as_ref(), service.as_ref(), AccountAt::Path)
    }

    /// The service of all hosts under a domain (`*.blob.example.com`); the account is a host's first label.
    ///
    /// # Errors
    ///
    /// A [`HostRuleError`] says which of the texts cannot be used; a host without `*.` is one of them, because the
    /// account would stand nowhere.
    pub fn account_in_label(domain: impl AsRef<str>, service: impl AsRef<str>) -> Result<Self, HostRuleError> {
        let rule = Self::of(domain.as_ref(), service.as_ref(), AccountAt::Label)?;
        if rule.at.is_domain() { Ok(rule) } else { Err(HostRuleError::NotADomain) }
    }

    /// The service and the account of a host, such as a custom domain or a private endpoint.
    ///
    /// # Errors
    ///
    /// A [`HostRuleError`] says which of the texts cannot be used.
    pub fn fixed_account(
        host: impl AsRef<str>,
        service: impl AsRef<str>,
        account: impl Into<String>,
    ) -> Result<Self, HostRuleError> {
        let account = account.into();
        let is_account = !account.is_empty() && account != "*" && !account.chars().any(char::is_control);
        if !is_account || is_reserved(&account) {
            return Err(HostRuleError::Account);
        }
        Self::of(host.as_ref(), service.as_ref(), AccountAt::Fixed(Cow::Owned(account)))
    }

    /// A host that serves Azure Resource Manager: subscription and service are in the path.
    ///
    /// # Errors
    ///
    /// [`HostRuleError::Host`] or [`HostRuleError::Port`].
    pub fn arm(host: impl AsRef<str>) -> Result<Self, HostRuleError> {
        Ok(HostRule { at: At::parse(host.as_ref())?, serves: Serves::Arm })
    }

    /// A host that gives tokens: the tenant is the first segment of the path, and where there is none, or that is
    /// `adfs`, it is the host.
    ///
    /// # Errors
    ///
    /// [`HostRuleError::Host`] or [`HostRuleError::Port`].
    pub fn identity(host: impl AsRef<str>) -> Result<Self, HostRuleError> {
        Ok(HostRule { at: At::parse(host.as_ref())?, serves: Serves::Identity })
    }

    fn of(host: &str, service: &str, account: AccountAt) -> Result<Self, HostRuleError> {
        let at = At::parse(host)?;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
        if service.is_empty() || !service.bytes().all(is_name) {
            return Err(HostRuleError::Service);
        }
        // Their calls are treated in another way, which only `identity` can ask for.
        if [IDENTITY, IMDS].contains(&service) {
            return Err(HostRuleError::ReservedService);
        }
        Ok(HostRule { at, serves: Serves::Service(Cow::Owned(service.to_owned()), account) })
    }
}

impl At {
    const fn fixed(name: &'static str) -> Self {
        At { name: Cow::Borrowed(name), port: None }
    }

    fn parse(text: &str) -> Result<Self, HostRuleError> {
        let (is_domain, text) = match text.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, text),
        };
        // Whatever a URL would take for something else than the host, or would skip.
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"/\\?#@%*".contains(c);
        if !text.chars().all(is_plain) {
            return Err(HostRuleError::Host);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (host, Some(port.ok_or(HostRuleError::Port)?))
            }
            _ => (text, None),
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(HostRuleError::Host);
        }
        let url = Url::parse(&format!("https://{host}/")).map_err(|_| HostRuleError::Host)?;
        let parsed = url.host_str().filter(|parsed| !parsed.starts_with('.'));
        let name = parsed.ok_or(HostRuleError::Host)?;
        // An address has no hosts under it.
        if is_domain && url.domain().is_none() {
            return Err(HostRuleError::Host);
        }
        let name = if is_domain { format!(".{name}") } else { name.to_owned() };
        Ok(At { name: Cow::Owned(name), port })
    }

    fn is_domain(&self) -> bool {
        self.name.starts_with('.')
    }

    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let named = match host.strip_suffix(self.name.as_ref()) {
            Some(before) => before.is_empty() != self.is_domain(),
            None => false,
        };
        named && (self.port.is_none() || self.port == port)
    }
}

/// The rule for a host in lower case: the user's first, then what is built in.
pub(crate) fn rule_for<'a>(rules: &'a [HostRule], host: &str, port: Option<u16>) -> Option<&'a Serves> {
    rules.iter().chain(HOSTS).find(|rule| rule.at.matches(host, port)).map(|rule| &rule.serves)
}

/// Accounts of identity begin so, and no other does: a tenant's tokens and its other calls have different limits, and a
/// call waits for its token while it holds a slot of its own account.
pub(crate) const IDENTITY_ACCOUNT: &str = "identity:";

pub(crate) fn is_reserved(account: &str) -> bool {
    account.get(..IDENTITY_ACCOUNT.len()).is_some_and(|start| start.eq_ignore_ascii_case(IDENTITY_ACCOUNT))
}

/// Why a [`HostRule`] cannot be built.
///
/// The text is not repeated: somebody may have given a whole URL, with its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostRuleError {
    /// The host is not one: a host stands alone, without scheme, user, path or query.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The account is to be the first label, but the host is not of the form `*.domain`.
    NotADomain,
    /// The service is empty or has other characters than `a` to `z`, `0` to `9`, `.`, `-` and `_`.
    Service,
    /// The service is `identity` or `imds`, which only [`HostRule::identity`] and the built-in rules give.
    ReservedService,
    /// The account is empty, `*`, has a control character, or begins with `identity:`, which marks tenants.
    Account,
}

impl fmt::Display for HostRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostRuleError::Host => "the host of a rule is not a host name or address alone",
            HostRuleError::Port => "the port of a rule's host is not a number from 1 to 65535",
            HostRuleError::NotADomain => "the account is in the label before a domain, but the host is not *.domain",
            HostRuleError::Service => "the service of a rule is not made of a-z, 0-9, '.', '-' and '_'",
            HostRuleError::ReservedService => {
                "the service of a rule is identity or imds: HostRule::identity is for hosts that give tokens"
            }
            HostRuleError::Account => {
                "the account of a rule is empty, '*', has a control character, or begins with identity:"
            }
        })
    }
}

impl std::error::Error for HostRuleError {}

mod table;

#[cfg(test)]
mod tests;
