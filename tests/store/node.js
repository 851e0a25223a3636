// The other side: writes team files the way the reference program does, through npm's
// proper-lockfile. Used by node.rs; prints one line per write that succeeded.
//
//   node node.js MODULES inbox  FILE NAME COUNT
//   node node.js MODULES roster FILE NAME COUNT
//   node node.js MODULES tasks  DIR  NAME COUNT
//   node node.js MODULES claims DIR  NAME -       (until nothing is left to claim)
const fs = require("fs");
const path = require("path");
const [modules, kind, target, name, count] = process.argv.slice(2);
const lockfile = require(path.join(modules, "proper-lockfile"));

const patience = { retries: 2000, factor: 1.2, minTimeout: 2, maxTimeout: 25 };
const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
// In place, as the classic program writes: a reader may meet half a file.
const write = (file, value) => fs.writeFileSync(file, JSON.stringify(value, null, 2));

async function locked(file, work) {
  const release = await lockfile.lock(file, { retries: patience });
  try {
    return work();
  } finally {
    await release();
  }
}

function message(at) {
  return { from: name, text: `${name} ${at}`, timestamp: new Date().toISOString(), read: false };
}

function newTask(dir) {
  const ids = fs.readdirSync(dir).filter((f) => f.endsWith(".json")).map((f) => parseInt(f, 10));
  const id = String(Math.max(0, ...ids) + 1);
  write(path.join(dir, `${id}.json`), {
    id, subject: `${name}`, description: "", status: "pending", blocks: [], blockedBy: [],
  });
  return id;
}

async function claimAll(dir) {
  const ids = () => fs.readdirSync(dir).filter((f) => /^\d+\.json$/.test(f));
  const free = (task) => !task.owner && task.status === "pending";
  for (;;) {
    const open = ids().filter((f) => { try { return free(read(path.join(dir, f))); } catch { return true; } });
    if (open.length === 0) return;
    for (const file of open) {
      const target = path.join(dir, file);
      const won = await locked(target, () => {
        const task = read(target);
        if (!free(task)) return false;
        // Keys in the order of the reference.
        const { id, subject, description, ...rest } = task;
        write(target, { id, subject, description, owner: name, ...rest, status: "in_progress" });
        return true;
      });
      if (won) console.log(file.replace(".json", ""));
    }
  }
}

async function main() {
  if (kind === "claims") return claimAll(target);
  for (let at = 0; at < Number(count); at++) {
    if (kind === "inbox") {
      await locked(target, () => write(target, [...read(target), message(at)]));
      console.log(`${name} ${at}`);
    } else if (kind === "roster") {
      await locked(target, () => {
        const team = read(target);
        team.members.push({ agentId: `${name}-${at}@t`, name: `${name}-${at}`, joinedAt: Date.now(), tmuxPaneId: "in-process", subscriptions: [] });
        write(target, team);
      });
      console.log(`${name}-${at}`);
    } else {
      console.log(await locked(path.join(target, ".lock"), () => newTask(target)));
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
