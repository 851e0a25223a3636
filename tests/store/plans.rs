//! Plans: names that stay in their directory, texts that are written whole.

use std::fs;
use std::path::Path;

use quarterdeck::protocol::ids::BadName;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::plans::{PlanName, Plans};
use quarterdeck::store::{Durability, Store};

use crate::support::{fixtures, mode};

fn plans(root: &Path) -> Plans {
    Plans::new(&Store::open(Home::at(root), Durability::ProcessCrash))
}

#[test]
fn a_plan_is_written_whole_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let plans = plans(dir.path());
    let slug = plans.new_slug().unwrap();
    let lead = PlanName::of_lead(&slug).unwrap();
    let agent = PlanName::of_agent(&slug, "a0a288c").unwrap();
    assert_eq!(plans.read(&lead).unwrap(), None);
    plans.write(&lead, "# One\n").unwrap();
    plans.write(&lead, "# Two\n").unwrap();
    plans.write(&agent, "# Mine\n").unwrap();
    assert_eq!(plans.read(&lead).unwrap().as_deref(), Some("# Two\n"));
    assert_eq!(plans.read(&agent).unwrap().as_deref(), Some("# Mine\n"));
    let path = dir.path().join(format!("plans/{slug}-agent-a0a288c.md"));
    assert_eq!(plans.path(&agent), path);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(fs::read_dir(dir.path().join("plans")).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn no_name_leads_out_of_the_directory() {
    for bad in ["", "..", "../x", "a/b", "/etc/x", ".x", "-x", "a\0", "a b", "ä", &"x".repeat(65)]
    {
        let slug = PlanName::of_lead(bad).unwrap_err();
        assert_eq!(slug, BadName::Shape { what: "a plan", name: bad.into() });
        let agent = PlanName::of_agent("calm-sailing-gull", bad).unwrap_err();
        assert_eq!(agent, BadName::Shape { what: "a plan's agent", name: bad.into() });
        assert!(PlanName::of_agent(bad, "a1").is_err());
    }
}

#[test]
fn the_plans_of_others_have_names_that_we_can_give() {
    let found = fixtures(".md");
    assert!(found.len() >= 4, "only {} plans found", found.len());
    for path in found {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let plan = match name.split_once("-agent-") {
            Some((slug, agent)) => PlanName::of_agent(slug, agent).unwrap(),
            None => PlanName::of_lead(name).unwrap(),
        };
        assert_eq!(plan.to_string(), name);
        let home = path.ancestors().nth(2).unwrap();
        assert_eq!(Home::at(home).plans().join(format!("{plan}.md")), path);
    }
}

#[test]
fn a_new_slug_is_free_even_for_agents() {
    let dir = tempfile::tempdir().unwrap();
    let plans = plans(dir.path());
    for _ in 0..200 {
        let slug = plans.new_slug().unwrap();
        let plan = PlanName::of_agent(&slug, "a1").unwrap();
        assert_eq!(plans.read(&plan).unwrap(), None, "{slug} was given twice");
        plans.write(&plan, "x").unwrap();
    }
}
