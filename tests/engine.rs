//! One agent, and the agents that it starts, through the real program on the playbooks of
//! `tests/playbooks/engine`. Moments that only the library can force are in `turns`, `subagents`
//! and `headless`.
//!
//! | what is promised | test | playbook |
//! | --- | --- | --- |
//! | context in, model, tools, results, until the model stops | `turns::tools_run_side_by_side_…` | rounds |
//! | the turn limit, the budget | `turns::a_turn_ends_at_its_limit_…` | rounds |
//! | tools side by side, results in the order of the calls | `turns::tools_run_side_by_side_…` | rounds |
//! | an interrupt at any point leaves a valid conversation | `turns::an_interrupt_at_any_point_…` | interrupts |
//! | errors of tools are results | `turns::tools_run_side_by_side_…` | rounds |
//! | one queue with priorities, heard between tool rounds | `turns::what_comes_while_it_works_…` | queue |
//! | a background command that waits for input | `turns::a_background_command_that_waits_…` | waiting |
//! | system prompt, memory files, stable order | `turns::the_prompt_holds_everything_…` | prompt |
//! | memory files from above, available skills | `fields::memory_files_of_directories_above_…` | fields |
//! | compaction by itself and on demand; nothing is lost | `context::a_summary_is_made_…` | compact |
//! | what is kept: recent words, open tasks | `context::behind_a_summary_…` | compact |
//! | transcripts; `-c` and `-r` with mode, cost, grants, asks | `context::a_session_goes_on_…` | asked |
//! | an interrupted call is shown as interrupted | `context::killed_in_the_middle_…` | steps |
//! | agents go on with their open asks after a restart | `adopted::*` | adopted |
//! | definitions: places, precedence, reload, errors, servers | `agents::kinds_are_followed_…`, `agents::the_strongest_…` | kinds |
//! | definitions of policy and plug-ins; one that breaks | `fields::policy_and_plug_ins_…`, `fields::a_definition_that_breaks_…` | fields |
//! | every field of a definition counts | `agents::a_definition_brings_…`, `fields::*` | gear, fields |
//! | hooks of a definition: before, after, at the end; by exit code or in JSON | `hooks::*` | hooks |
//! | `agents list`, `agents show` | `agents::kinds_are_followed_…` | kinds |
//! | routing; denied types are errors | `agents::without_a_type_…` | kinds |
//! | subagent context: read cache, mode, chain, depth, transcript | `agents::a_child_knows_…` | child |
//! | synchronous: progress, result, partial result | `agents::a_child_knows_…` | child |
//! | sent to the background while running | `agents::who_is_waited_for_…` | background |
//! | the setting that sends them there; 200 of both | `behind::who_takes_longer_…`, `behind::nothing_is_repeated_…` | background, soak |
//! | background: launched, output file, one notification | `agents::a_background_agent_writes_…` | background |
//! | background: state set before slow clean-up | `behind::the_end_of_an_agent_…` | background |
//! | TaskOutput marks as notified | `agents::who_waits_with_task_output_…` | background |
//! | TaskStop and every other kill: told once | `agents::however_it_is_killed_…` | background |
//! | an interrupt leaves it alone | `behind::an_interrupt_of_the_lead_…` | background |
//! | SendMessage: running, ended, unknown | `agents::messages_reach_…` | background |
//! | SendMessage: stopped | `behind::a_message_wakes_…` | background |
//! | forks share their prefix, ask through the parent, cannot fork | `agents::forks_share_…` | forks |
//! | a fork is known by flag and by mark | `behind::a_fork_is_known_…`, `behind::who_reads_…` | marked |
//! | away summaries of who works and who has ended | `behind::what_an_agent_did_…` | background |
//! | titles, summaries, side questions, memory | `agents::asides_run_no_tool_…` | asides |
//! | the entry point for skills | `agents::a_kind_of_agent_runs_…` | asides |
//! | worktrees of agents and of a run; none, no agent | `agents::agents_with_worktrees_…` | worktrees |
//! | links, reuse, the note for forks | `behind::a_worktree_of_an_agent_…`, `behind::a_fork_in_a_worktree_…` | marked |
//! | formats of output, `-p -` | `headless::formats_say_…` | asked |
//! | `--on-ask`, rules, modes, `asks` from another terminal | `headless::questions_are_…` | asked |
//! | the name of a team in `asks` | `headless::the_name_of_a_team_…`, `behind::the_team_that_a_lead_made_…` | asked, harbour |
//! | SIGINT and SIGTERM | `headless::a_signal_interrupts_…`, `agents::what_a_signal_ends_is_gone` | asked |
//! | when a run is over | `headless::a_run_is_over_…` | background |
//! | kill -9 in a turn | `context::killed_in_the_middle_…` | steps |
//! | a server that says too long, once or for ever | `context::what_a_server_finds_…`, `context::what_stays_too_long_…` | too_long |
//! | every fault at every turn of ten | `faults::*` | ten |
//! | control requests that make no sense | `headless::requests_that_make_no_sense_…` | asked |
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod engine {
    mod adopted;
    mod agents;
    mod behind;
    mod context;
    mod faults;
    mod fields;
    mod headless;
    mod hooks;
    mod turns;
}
mod support;
