//! Whom a call is charged to.

use cloud_governor::Scope;

use crate::recorder::Seen;

#[derive(Debug)]
pub(crate) struct Targets {
    account: Option<String>,
}

impl Targets {
    pub(crate) fn new(account: Option<&str>, _factory: &str) -> Self {
        Targets { account: account.map(str::to_owned) }
    }

    pub(crate) fn of(&self, seen: Option<&Seen>, quota_project: Option<&str>) -> Scope {
        let resource = seen.and_then(|seen| {
            let (_, path) = seen.resource.as_deref()?.strip_prefix("//")?.split_once('/')?;
            let mut parts = path.splitn(3, '/');
            Some(format!("{}/{}", parts.next()?, parts.next()?)).filter(|account| account != "projects/_")
        });
        let account = resource
            .or_else(|| self.account.clone())
            .or_else(|| quota_project.map(str::to_owned))
            .unwrap_or_else(|| "unknown-1".to_owned());
        let scope = Scope::new("gcp", account, "", seen.map_or("", |seen| seen.service));
        match seen.and_then(|seen| seen.rpc?.rsplit('/').next()) {
            Some(operation) => scope.with_operation(operation),
            None => scope,
        }
    }

    pub(crate) fn learn(&self, _scope: &Scope, _consumer: &str) {}
}
