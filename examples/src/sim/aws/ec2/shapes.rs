//! The XML of the resources.

use serde::Serialize;

use super::document::List;
use crate::sim::aws::{Instance, Place, Vpc};

/// When everything was made.
const CREATED: &str = "2026-01-01T00:00:00.000Z";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VpcXml<'a> {
    vpc_id: &'a str,
    owner_id: &'a str,
    state: &'static str,
    cidr_block: String,
    dhcp_options_id: &'static str,
    instance_tenancy: &'static str,
    is_default: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubnetXml<'a> {
    subnet_id: &'a str,
    subnet_arn: String,
    state: &'static str,
    owner_id: &'a str,
    vpc_id: &'a str,
    cidr_block: String,
    available_ip_address_count: u32,
    availability_zone: String,
    default_for_az: bool,
    map_public_ip_on_launch: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecurityGroupXml<'a> {
    owner_id: &'a str,
    group_id: &'a str,
    group_name: String,
    group_description: &'static str,
    vpc_id: &'a str,
    ip_permissions: List<Permission>,
    ip_permissions_egress: List<Permission>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    ip_protocol: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_port: Option<u16>,
    ip_ranges: List<IpRange>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IpRange {
    cidr_ip: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReservationXml<'a> {
    reservation_id: String,
    owner_id: &'a str,
    instances_set: List<InstanceXml<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InstanceXml<'a> {
    instance_id: &'a str,
    image_id: &'static str,
    instance_state: State,
    ami_launch_index: usize,
    instance_type: &'static str,
    launch_time: &'static str,
    placement: Placement,
    subnet_id: &'a str,
    vpc_id: &'a str,
    architecture: &'static str,
    root_device_type: &'static str,
    root_device_name: &'static str,
    block_device_mapping: List<BlockDevice<'a>>,
}

#[derive(Serialize)]
struct State {
    code: u16,
    name: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Placement {
    availability_zone: String,
    tenancy: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockDevice<'a> {
    device_name: &'static str,
    ebs: Ebs<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ebs<'a> {
    volume_id: &'a str,
    status: &'static str,
    attach_time: &'static str,
    delete_on_termination: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VolumeXml<'a> {
    volume_id: &'a str,
    size: u32,
    availability_zone: String,
    status: &'static str,
    create_time: &'static str,
    attachment_set: List<Attachment<'a>>,
    volume_type: &'static str,
    iops: u32,
    encrypted: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    volume_id: &'a str,
    instance_id: &'a str,
    device: &'static str,
    status: &'static str,
    attach_time: &'static str,
    delete_on_termination: bool,
}

/// Makes the XML of one place's resources.
pub(super) struct Shape<'a> {
    pub(super) place: &'a Place<'a>,
}

impl<'a> Shape<'a> {
    pub(super) fn vpc(&self, number: usize, vpc: &'a Vpc) -> VpcXml<'a> {
        VpcXml {
            vpc_id: &vpc.id,
            owner_id: self.place.account.id(),
            state: "available",
            cidr_block: format!("10.{}.0.0/16", number % 256),
            dhcp_options_id: "dopt-00000000000000001",
            instance_tenancy: "default",
            is_default: false,
        }
    }

    pub(super) fn subnet(&self, number: usize, vpc: &'a Vpc, index: usize, id: &'a str) -> SubnetXml<'a> {
        SubnetXml {
            subnet_id: id,
            subnet_arn: self.place.arn("ec2", &format!("subnet/{id}")),
            state: "available",
            owner_id: self.place.account.id(),
            vpc_id: &vpc.id,
            cidr_block: format!("10.{}.{}.0/24", number % 256, index % 256),
            available_ip_address_count: 251,
            availability_zone: self.zone(index),
            default_for_az: false,
            map_public_ip_on_launch: false,
        }
    }

    pub(super) fn security_group(&self, vpc: &'a Vpc, index: usize, id: &'a str) -> SecurityGroupXml<'a> {
        let open = |ip_protocol, port, cidr_ip| Permission {
            ip_protocol,
            from_port: port,
            to_port: port,
            ip_ranges: vec![IpRange { cidr_ip }].into(),
        };
        SecurityGroupXml {
            owner_id: self.place.account.id(),
            group_id: id,
            group_name: if index == 0 { "default".to_owned() } else { format!("service-{index}") },
            group_description: "simulated",
            vpc_id: &vpc.id,
            ip_permissions: vec![open("tcp", Some(443), "10.0.0.0/8")].into(),
            ip_permissions_egress: vec![open("-1", None, "0.0.0.0/0")].into(),
        }
    }

    /// Instances of one reservation stand together in it, as far as the page goes.
    pub(super) fn reservations(&self, instances: &[(usize, &'a Instance)]) -> Vec<ReservationXml<'a>> {
        let same = |a: &(usize, &Instance), b: &(usize, &Instance)| a.1.reservation == b.1.reservation;
        let launched = |launched: &[(usize, &'a Instance)]| ReservationXml {
            reservation_id: format!("r-{:017x}", launched.first().map_or(0, |(_, instance)| instance.reservation)),
            owner_id: self.place.account.id(),
            instances_set: (0..)
                .zip(launched)
                .map(|(n, (number, i))| self.instance(*number, n, i))
                .collect::<Vec<_>>()
                .into(),
        };
        instances.chunk_by(same).map(launched).collect()
    }

    fn instance(&self, number: usize, launch_index: usize, instance: &'a Instance) -> InstanceXml<'a> {
        let volume = self.place.estate.ec2.volumes.get(number);
        let root = volume.map(|volume| BlockDevice {
            device_name: "/dev/xvda",
            ebs: Ebs { volume_id: volume, status: "attached", attach_time: CREATED, delete_on_termination: true },
        });
        InstanceXml {
            instance_id: &instance.id,
            image_id: "ami-00000000000000001",
            instance_state: State { code: 16, name: "running" },
            ami_launch_index: launch_index,
            instance_type: "m7g.large",
            launch_time: CREATED,
            placement: Placement { availability_zone: self.zone(number), tenancy: "default" },
            subnet_id: &instance.subnet,
            vpc_id: &instance.vpc,
            architecture: "arm64",
            root_device_type: if root.is_some() { "ebs" } else { "instance-store" },
            root_device_name: "/dev/xvda",
            block_device_mapping: root.into_iter().collect::<Vec<_>>().into(),
        }
    }

    pub(super) fn volume(&self, number: usize, id: &'a str) -> VolumeXml<'a> {
        let instance = self.place.estate.ec2.instances.get(number);
        let attachment = instance.map(|instance| Attachment {
            volume_id: id,
            instance_id: &instance.id,
            device: "/dev/xvda",
            status: "attached",
            attach_time: CREATED,
            delete_on_termination: true,
        });
        VolumeXml {
            volume_id: id,
            size: 8,
            availability_zone: self.zone(number),
            status: if attachment.is_some() { "in-use" } else { "available" },
            create_time: CREATED,
            attachment_set: attachment.into_iter().collect::<Vec<_>>().into(),
            volume_type: "gp3",
            iops: 3000,
            encrypted: false,
        }
    }

    /// One of the region's three zones.
    fn zone(&self, number: usize) -> String {
        let letter = match number % 3 {
            0 => 'a',
            1 => 'b',
            _ => 'c',
        };
        format!("{}{letter}", self.place.leaf.region)
    }
}
