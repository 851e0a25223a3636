// Appends to an inbox the way the reference program does: lock, read, parse, push, stringify,
// write in place, unlock. Prints the median in microseconds. Used by store.rs.
//
//   node reference.js MODULES INBOX ROUNDS
const fs = require("fs");
const path = require("path");
const [modules, inbox, rounds] = process.argv.slice(2);
const lockfile = require(path.join(modules, "proper-lockfile"));

const full = fs.readFileSync(inbox, "utf8");
const took = [];
for (let round = 0; round < Number(rounds); round++) {
  fs.unlinkSync(inbox);
  fs.writeFileSync(inbox, full);
  const since = process.hrtime.bigint();
  const release = lockfile.lockSync(inbox, { lockfilePath: `${inbox}.lock` });
  const messages = JSON.parse(fs.readFileSync(inbox, "utf8"));
  messages.push({
    from: "team-lead",
    text: "The totals are rounded twice, once per line and once in the sum; I left a test.",
    summary: "rounded twice",
    timestamp: new Date().toISOString(),
    read: false,
  });
  fs.writeFileSync(inbox, JSON.stringify(messages, null, 2));
  release();
  took.push(Number(process.hrtime.bigint() - since) / 1000);
}
took.sort((a, b) => a - b);
console.log(took[took.length >> 1].toFixed(0));
