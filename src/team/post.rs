//! The mail of a team: durable first, then announced by push.
//!
//! Whoever reads in this process has a tray. What colleagues in this process send is put into it
//! right behind the write; what other processes write makes the tray look at its inbox. A message
//! enters a queue once, whichever way it was noticed, and counts as read only when it stands in
//! the receiver's transcript.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use crate::model::Stop;
use crate::protocol::event::Fact;
use crate::protocol::ids::{AgentId, AgentName, MessageId, TeamDir};
use crate::protocol::message::{Body, Message};
use crate::protocol::team::Team;
use crate::protocol::time::Stamp;
use crate::store::journal::Journal;
use crate::store::mailbox::{Mailbox, Sent, Which, color_of, stamp};
use crate::store::watch::{Change, Changes, InboxStem, Pace, Watch};
use crate::store::{Store, StoreError};

pub struct Post {
    store: Store,
    journal: Arc<Journal>,
    pub team: TeamDir,
    trays: Mutex<HashMap<InboxStem, Arc<Tray>>>,
    /// Counts the reasons to offer tasks: the list changed, or somebody became free.
    tasks: watch::Sender<u64>,
    /// The task list is not what it was when it was looked at last.
    list_changed: AtomicBool,
    /// Counts everything that moves: whoever looks twice and sees the same number saw one state.
    moves: watch::Sender<u64>,
    /// The team is gone, or its session ends: whoever works for it ends, too.
    pub closed: Stop,
}

/// Where the mail of one reader in this process arrives.
#[derive(Debug, Default)]
pub struct Tray {
    state: Mutex<TrayState>,
    /// Held from a write of the inbox to the push behind it, so that pushes keep its order.
    order: Mutex<()>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct TrayState {
    new: Vec<Message>,
    /// When the message was sent that was pushed last.
    newest: Option<Stamp>,
    /// Another process may have written: the file must be read.
    look: bool,
    /// The reader is putting what it took into its queue.
    carrying: bool,
    /// What entered the queue once, or stands in the transcript.
    known: HashSet<MessageId>,
    /// What stood in the transcript when the reader came back.
    earlier: HashSet<MessageId>,
    /// Of what is known, what was marked: the file does not show it any more, and only one who
    /// is just sending it could still announce it. The oldest first, and not for ever.
    marked: VecDeque<MessageId>,
    /// What stands in the transcript and is not marked in the file yet.
    unmarked: HashSet<MessageId>,
    marking: bool,
}

/// As many marked messages are remembered, and as many wait in a tray; the rest is in the file.
const MOST: usize = 1024;

/// How much longer than a mark took the next one of the same inbox waits.
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_millis(100);

impl TrayState {
    fn are_marked(&mut self, ids: HashSet<MessageId>) {
        self.marked.extend(ids);
        while self.marked.len() > MOST {
            if let Some(oldest) = self.marked.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

impl Tray {
    fn state(&self) -> MutexGuard<'_, TrayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there may be something new.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }

    /// What came, and whether the file must be read besides. Until `carried` the tray is busy.
    pub fn take(&self) -> (Vec<Message>, bool) {
        let mut state = self.state();
        state.carrying = true;
        (std::mem::take(&mut state.new), std::mem::replace(&mut state.look, false))
    }

    pub fn carried(&self) {
        self.state().carrying = false;
    }

    /// Whether this message is new to the reader; from now on it is not.
    pub fn is_new(&self, id: &MessageId) -> bool {
        let mut state = self.state();
        !state.earlier.contains(id) && state.known.insert(id.clone())
    }

    /// These are known from an earlier life.
    pub fn knows(&self, ids: impl IntoIterator<Item = MessageId>) {
        self.state().earlier.extend(ids);
    }

    /// The file was read: what was marked long ago is in it no more, and need not be known.
    pub fn has_seen(&self, unread: &[Message]) {
        let mut state = self.state();
        if !state.earlier.is_empty() {
            let unread: HashSet<MessageId> = unread.iter().map(Message::id).collect();
            state.earlier.retain(|id| unread.contains(id));
        }
    }

    /// The file could not be read: it is tried again.
    pub fn look_again(&self) {
        self.state().look = true;
    }

    pub fn wants_look(&self) -> bool {
        self.state().look
    }

    /// The reader could not take it: it stays for its next life.
    pub fn put_back(&self, id: &MessageId) {
        self.state().known.remove(id);
    }

    /// Whether all of these were pushed, or have come in before.
    fn has_all(&self, ids: &[MessageId]) -> bool {
        let state = self.state();
        ids.iter().all(|id| {
            let came = state.known.contains(id) || state.earlier.contains(id);
            came || state.new.iter().any(|message| message.id() == *id)
        })
    }

    /// Has the reader look at its inbox.
    pub fn look(&self) {
        self.state().look = true;
        self.bell.notify_one();
    }

    pub fn is_quiet(&self) -> bool {
        let state = self.state();
        state.new.is_empty() && !state.look && !state.carrying
    }
}

impl Post {
    /// The post of a team. Blocks: it begins to listen to what other processes write.
    pub fn open(
        store: &Store,
        journal: &Arc<Journal>,
        team: &TeamDir,
        moves: watch::Sender<u64>,
        pace: Pace,
    ) -> Result<(Arc<Self>, Changes), StoreError> {
        let changes = Watch::start_with(store.home(), pace)?;
        let post = Arc::new(Self {
            store: store.clone(),
            journal: Arc::clone(journal),
            team: team.clone(),
            trays: Mutex::default(),
            tasks: watch::Sender::new(0),
            list_changed: AtomicBool::new(true),
            moves,
            closed: Stop::new(),
        });
        Ok((post, changes))
    }

    /// Heeds what other processes write, until the post closes.
    pub async fn listen(self: Arc<Self>, mut changes: Changes) {
        while let Some(Some(change)) = self.closed.run_until_cancelled(changes.next()).await {
            self.heed(&change);
        }
    }

    fn heed(&self, change: &Change) {
        match change {
            Change::MailArrived { team, inbox, new, .. } if *team == self.team => {
                if let Some(tray) = self.trays().get(inbox).filter(|tray| !tray.has_all(new)) {
                    tray.look();
                }
                self.moved();
            }
            Change::TaskChanged { list, .. } | Change::TaskGone { list, .. }
                if *list == self.team =>
            {
                self.tasks_changed();
            }
            Change::MailArrived { .. }
            | Change::MailChanged { .. }
            | Change::TaskChanged { .. }
            | Change::TaskGone { .. }
            | Change::TeamChanged { .. }
            | Change::TeamGone { .. }
            | Change::MemberJoined { .. }
            | Change::MemberLeft { .. } => {}
            Change::Trouble { path, why } => {
                tracing::warn!(path = %path.display(), %why, "the team's files");
            }
        }
    }

    /// The tray of a reader in this process.
    pub fn tray(&self, name: &AgentName) -> Arc<Tray> {
        Arc::clone(self.trays().entry(InboxStem::of(name)).or_default())
    }

    /// Nobody reads for this agent any more.
    pub fn close_tray(&self, name: &AgentName) {
        self.trays().remove(&InboxStem::of(name));
    }

    fn trays(&self) -> MutexGuard<'_, HashMap<InboxStem, Arc<Tray>>> {
        self.trays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends plain words to somebody on the roster, which was just read. When this returns they
    /// are on disk, and the receiver was woken.
    pub fn send(
        &self,
        roster: &Team,
        by: &AgentId,
        from: &AgentName,
        to: &AgentName,
        words: &str,
        summary: Option<String>,
    ) -> Result<Message, StoreError> {
        let color = color_of(roster, from);
        let message = Message::new(from, words, stamp()).summary(summary).color(color);
        self.deliver(by, to, |mail| mail.send_plain_among(roster, to, message))
    }

    /// Sends a message of the protocol, which only a runtime may.
    pub fn send_body(
        &self,
        by: &AgentId,
        from: &AgentName,
        to: &AgentName,
        body: &Body,
        at: Stamp,
    ) -> Result<Message, StoreError> {
        let colored = matches!(
            body,
            Body::IdleNotification(_)
                | Body::ShutdownApproved(_)
                | Body::ShutdownRejected(_)
                | Body::PermissionRequest(_)
        );
        let roster = self.roster()?;
        let color = if colored { color_of(&roster, from) } else { None };
        let message = Message::with_body(from, body, at).color(color);
        self.deliver(by, to, |mail| mail.send_typed_among(&roster, to, message))
    }

    /// Writes a message, then tells everyone who should know of it.
    fn deliver(
        &self,
        by: &AgentId,
        to: &AgentName,
        write: impl FnOnce(&Mailbox<'_>) -> Result<Sent, StoreError>,
    ) -> Result<Message, StoreError> {
        let tray = self.trays().get(&InboxStem::of(to)).cloned();
        let order = tray.as_ref().map(|tray| tray.order.lock());
        let Sent { message, behind } = write(&self.store.mail(&self.team))?;
        self.journal.emit(Some(by), Fact::MailSent { to: to.clone(), message: message.clone() });
        self.announce(to, &message, behind);
        drop(order);
        Ok(message)
    }

    /// Who is in the team now. Blocks.
    pub fn roster(&self) -> Result<Arc<Team>, StoreError> {
        self.store.rosters().team(&self.team)
    }

    /// Wakes the receiver of a message that is on disk, behind the one that was sent at that time.
    pub fn announce(&self, to: &AgentName, message: &Message, behind: Option<Stamp>) {
        if let Some(tray) = self.trays().get(&InboxStem::of(to)) {
            let mut state = tray.state();
            // What another process wrote in between comes first. It is in the file, and is found
            // there, as is what is too much.
            let follows = behind.is_some() && behind == state.newest;
            match follows && state.new.len() < MOST {
                true => state.new.push(message.clone()),
                false => state.look = true,
            }
            state.newest = Stamp::parse(&message.timestamp);
            drop(state);
            tray.bell.notify_one();
        }
        self.moved();
    }

    /// What an agent has not taken yet, oldest first.
    pub fn unread(&self, name: &AgentName) -> Result<Vec<Message>, StoreError> {
        self.store.mail(&self.team).unread(name)
    }

    /// Marks what stands in the receiver's transcript. One task at a time does it for one inbox,
    /// and takes along what came meanwhile: every mark writes the whole inbox.
    pub fn mark(self: &Arc<Self>, name: &AgentName, mail: Vec<MessageId>) {
        let tray = self.tray(name);
        {
            let mut state = tray.state();
            state.unmarked.extend(mail);
            if state.look {
                // There is room for what waits in the file.
                tray.bell.notify_one();
            }
            if std::mem::replace(&mut state.marking, true) {
                return;
            }
        }
        tokio::spawn(Arc::clone(self).mark_all(name.clone(), tray));
    }

    async fn mark_all(self: Arc<Self>, name: AgentName, tray: Arc<Tray>) {
        loop {
            let these = {
                let mut state = tray.state();
                if state.unmarked.is_empty() {
                    state.marking = false;
                    break;
                }
                std::mem::take(&mut state.unmarked)
            };
            let since = Instant::now();
            let (post, own, inbox) = (Arc::clone(&self), name.clone(), Arc::clone(&tray));
            let marked = tokio::task::spawn_blocking(move || post.mark_these(&own, &inbox, these));
            if marked.await.is_err() {
                tray.state().marking = false;
                break;
            }
            if !tray.state().unmarked.is_empty() {
                let rest = (since.elapsed() * REST).min(LONGEST_REST);
                self.closed.run_until_cancelled(tokio::time::sleep(rest)).await;
            }
        }
        self.moved();
    }

    fn mark_these(&self, name: &AgentName, tray: &Tray, these: HashSet<MessageId>) {
        match self.store.mail(&self.team).mark_read(name, &Which::These(&these)) {
            Ok(_) => tray.state().are_marked(these),
            // They stand in the transcript, so they are not delivered again.
            Err(error) => {
                tracing::warn!(%error, agent = %name, "mail could not be marked as read");
            }
        }
    }

    /// Whether all that was delivered is marked.
    pub fn is_marked(&self) -> bool {
        self.trays().values().all(|tray| !tray.state().marking)
    }

    /// The task list changed, and free teammates are to be offered what it holds.
    pub fn tasks_changed(&self) {
        self.list_unseen();
        self.offer_again();
    }

    /// Free teammates are to be offered what the list holds, though it did not change.
    pub fn offer_again(&self) {
        self.tasks.send_modify(|count| *count += 1);
        self.moved();
    }

    /// Nobody has looked at the list as it is now.
    pub fn list_unseen(&self) {
        self.list_changed.store(true, Ordering::SeqCst);
    }

    /// Whether the list changed since this was asked last.
    pub fn take_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::SeqCst)
    }

    pub fn tasks(&self) -> watch::Receiver<u64> {
        self.tasks.subscribe()
    }

    pub fn moved(&self) {
        self.moves.send_modify(|count| *count += 1);
    }

    pub fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }
}
