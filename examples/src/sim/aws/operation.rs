//! The operations the simulated AWS knows.

/// One operation of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// STS.
    GetCallerIdentity,
    /// CloudWatch Logs.
    DescribeLogGroups,
    /// CloudWatch Logs.
    DescribeLogStreams,
    /// Systems Manager.
    DescribeParameters,
    /// Systems Manager.
    GetParameter,
    /// Secrets Manager.
    ListSecrets,
    /// Secrets Manager.
    DescribeSecret,
    /// EC2.
    DescribeVpcs,
    /// EC2.
    DescribeSubnets,
    /// EC2.
    DescribeSecurityGroups,
    /// EC2.
    DescribeInstances,
    /// EC2.
    DescribeVolumes,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 12] = [
        Operation::GetCallerIdentity,
        Operation::DescribeLogGroups,
        Operation::DescribeLogStreams,
        Operation::DescribeParameters,
        Operation::GetParameter,
        Operation::ListSecrets,
        Operation::DescribeSecret,
        Operation::DescribeVpcs,
        Operation::DescribeSubnets,
        Operation::DescribeSecurityGroups,
        Operation::DescribeInstances,
        Operation::DescribeVolumes,
    ];

    /// The service's signing name, which is botocore's name for it too.
    pub fn service(self) -> &'static str {
        match self {
            Operation::GetCallerIdentity => "sts",
            Operation::DescribeLogGroups | Operation::DescribeLogStreams => "logs",
            Operation::DescribeParameters | Operation::GetParameter => "ssm",
            Operation::ListSecrets | Operation::DescribeSecret => "secretsmanager",
            Operation::DescribeVpcs
            | Operation::DescribeSubnets
            | Operation::DescribeSecurityGroups
            | Operation::DescribeInstances
            | Operation::DescribeVolumes => "ec2",
        }
    }

    /// The API's name.
    pub fn name(self) -> &'static str {
        match self {
            Operation::GetCallerIdentity => "GetCallerIdentity",
            Operation::DescribeLogGroups => "DescribeLogGroups",
            Operation::DescribeLogStreams => "DescribeLogStreams",
            Operation::DescribeParameters => "DescribeParameters",
            Operation::GetParameter => "GetParameter",
            Operation::ListSecrets => "ListSecrets",
            Operation::DescribeSecret => "DescribeSecret",
            Operation::DescribeVpcs => "DescribeVpcs",
            Operation::DescribeSubnets => "DescribeSubnets",
            Operation::DescribeSecurityGroups => "DescribeSecurityGroups",
            Operation::DescribeInstances => "DescribeInstances",
            Operation::DescribeVolumes => "DescribeVolumes",
        }
    }

    /// The operation of this name in the service with this signing name.
    pub fn find(service: &str, name: &str) -> Option<Self> {
        Operation::ALL.into_iter().find(|operation| operation.service() == service && operation.name() == name)
    }
}
