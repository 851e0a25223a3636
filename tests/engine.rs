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
//! | compaction by itself and on demand; nothing is lost | `context::a_summary_is_made_…` | compact |
//! | transcripts; `-c` and `-r` with mode, cost, grants, asks | `context::a_session_goes_on_…` | asked |
//! | an interrupted call is shown as interrupted | `context::killed_in_the_middle_…` | steps |
//! | agents go on with their open asks after a restart | `adopted::*` | adopted |
//! | definitions: places, precedence, reload, errors, servers | `agents::kinds_are_followed_…`, `agents::the_strongest_…` | kinds |
//! | every field of a definition counts | `agents::a_definition_brings_…` | gear |
//! | `agents list`, `agents show` | `agents::kinds_are_followed_…` | kinds |
//! | routing; denied types are errors | `agents::without_a_type_…` | kinds |
//! | subagent context: read cache, mode, depth, transcript | `agents::a_child_knows_…` | child |
//! | synchronous: progress, result, partial result | `agents::a_child_knows_…` | child |
//! | sent to the background while running | `agents::who_is_waited_for_…` | background |
//! | background: launched, output file, one notification | `agents::a_background_agent_writes_…` | background |
//! | TaskOutput marks as notified | `agents::who_waits_with_task_output_…` | background |
//! | TaskStop and every other kill: told once | `agents::however_it_is_killed_…` | background |
//! | SendMessage: running, ended, unknown | `agents::messages_reach_…` | background |
//! | forks share their prefix, ask through the parent, cannot fork | `agents::forks_share_…` | forks |
//! | titles, summaries, side questions, memory | `agents::asides_run_no_tool_…` | asides |
//! | the entry point for skills | `agents::a_kind_of_agent_runs_…` | asides |
//! | worktrees of agents and of a run; none, no agent | `agents::agents_with_worktrees_…` | worktrees |
//! | formats of output, `-p -` | `headless::formats_say_…` | asked |
//! | `--on-ask`, rules, modes, `asks` from another terminal | `headless::questions_are_…` | asked |
//! | the name of a team in `asks` | `headless::the_name_of_a_team_…` | asked |
//! | SIGINT and SIGTERM | `headless::a_signal_interrupts_…`, `agents::what_a_signal_ends_is_gone` | asked |
//! | when a run is over | `headless::a_run_is_over_…` | background |
//! | kill -9 in a turn | `context::killed_in_the_middle_…` | steps |
//! | faults on the way to the model | `turns::a_fault_on_the_way_…` | ten |
//! | control requests that make no sense | `headless::requests_that_make_no_sense_…` | asked |
//!
//! Not here: a conversation that a server finds too long (`turns::compaction`, for no playbook
//! says that), plug-in and policy definitions (`agents`), all faults at all turns
//! (`turns::faults`), 200 agents sent to the background (`subagents::soak`).
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod engine {
    mod adopted;
    mod agents;
    mod context;
    mod headless;
    mod turns;
}
mod support;
