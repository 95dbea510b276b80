//! The base of a percentage. Unlabelled percentages of CPU time have confused users of every tool: each output names its base.

use clap::ValueEnum;
use observe::model::MachineUsage;

/// Meaning of 100 %, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BaseArg {
    /// All CPUs that are switched on
    #[default]
    Machine,
    /// One core: two busy threads are 200 %
    Core,
    /// What the control groups' quota allows, or all CPUs where there is none
    Quota,
}

/// Meaning of 100 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    arg: BaseArg,
    cores: f64,
}

impl Base {
    /// Of this machine.
    pub fn new(arg: BaseArg, machine: &MachineUsage) -> Self {
        let online = f64::from(machine.online_cpus.max(1));
        let quota = machine.quota_millicores.map(|quota| (quota.max(1) as f64 / 1000.0).min(online));
        match (arg, quota) {
            (BaseArg::Core, _) => Self { arg, cores: 1.0 },
            (BaseArg::Quota, Some(cores)) => Self { arg, cores },
            (BaseArg::Quota | BaseArg::Machine, _) => Self { arg: BaseArg::Machine, cores: online },
        }
    }

    /// `cores` as a percentage.
    pub fn percent(self, cores: f64) -> f64 {
        cores / self.cores * 100.0
    }

    /// `share of 64 cores`.
    pub fn label(self) -> String {
        match self.arg {
            BaseArg::Machine if self.cores > 1.0 => format!("share of {} cores", self.cores),
            BaseArg::Machine | BaseArg::Core => "share of one core".to_owned(),
            BaseArg::Quota => format!("share of the quota of {} cores", terminal::four_digits(self.cores)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_is_labelled() {
        let machine = MachineUsage { online_cpus: 64, quota_millicores: Some(1500), ..MachineUsage::default() };
        let of = |arg| Base::new(arg, &machine);
        assert_eq!(of(BaseArg::Machine).label(), "share of 64 cores");
        assert_eq!((of(BaseArg::Machine).percent(32.0), of(BaseArg::Core).percent(2.0)), (50.0, 200.0));
        assert_eq!(of(BaseArg::Quota).label(), "share of the quota of 1.500 cores");
        assert_eq!(of(BaseArg::Quota).percent(1.5), 100.0);
        let unbounded = MachineUsage { online_cpus: 1, ..MachineUsage::default() };
        assert_eq!(Base::new(BaseArg::Quota, &unbounded).label(), "share of one core");
    }
}
