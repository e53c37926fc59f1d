import type { Failure } from "#emulators/ec2/behaviour.ts";
import { createBurst } from "#test/faults/burst.ts";
import { NODES, type Row } from "#test/faults/row.ts";
import type { Stage } from "#test/faults/stage.ts";

const ROLE = "arn:aws:iam::123456789012:role/serverless-ccm";

/**
 * The maximum virtual time that nodes may wait after rejected credentials; a session of a role lasts an hour.
 */
const REFUSED_CREDENTIALS_MS = 15 * 60_000;

/** Instances that become visible late, and their number in a burst. */
const LATE = 30;

/** Faults of EC2. */
export const EC2_ROWS: readonly Row[] = [
  failing("EC2: the next 200 calls are throttled", {
    kind: "error",
    count: 200,
    status: 503,
    code: "RequestLimitExceeded",
  }),
  failing("EC2: the next 50 calls answer 500", { kind: "error", count: 50 }),
  failing("EC2: the next 10 calls take 3 s", { kind: "slow", count: 10, delayMs: 3_000 }, 1),
  {
    ...failing("EC2: connection reset in the middle of 20 bodies", { kind: "reset", count: 20 }),
    isQuick: true,
  },
  failing("EC2: 20 documents that break off", { kind: "truncated", count: 20 }),
  failing("EC2: the next 10 pages are empty and not the last", { kind: "empty-page", count: 10 }, 1),
  failing("EC2: the next 20 answers are empty", { kind: "empty", count: 20 }),
  {
    name: "EC2: one bad ID in a hundred",
    async play(stage) {
      for (let bad = 0; bad < NODES / 100; bad += 1) await stage.register(`unknown-${bad}.invalid`);
      await createBurst({})(stage);
      const exchanges = stage.platform.exchanges();
      const batches = exchanges.filter(({ event }) => event.objects.length > 1).length;
      if (batches === 0) throw new Error("every node went alone");
    },
  },
  {
    name: "EC2: 30 instances become visible late",
    async play(stage) {
      await stage.startRelay();
      const late = stage.ec2.addInstances(Array.from({ length: LATE }, () => HIDDEN));
      await Promise.all(late.map((instance) => stage.register(instance)));
      const joining = stage.join(NODES - LATE);
      await stage.afterWrites(stage.random.whole(1, NODES - LATE));
      await joining;
      for (const { id } of stage.random.some(late, LATE)) {
        stage.ec2.reveal(id);
        stage.clock.skip(stage.random.whole(0, 2_000));
      }
      await stage.untilUp();
    },
  },
  {
    name: "EC2: the role's session ends in the middle",
    options: { cloud: { roleArn: ROLE } },
    async play(stage) {
      await stage.startRelay();
      const joining = stage.join(NODES / 2);
      await stage.afterWrites(stage.random.whole(1, NODES / 2));
      stage.ec2.expireSessions();
      const skippedMs = stage.clock.skippedMs();
      await joining;
      await stage.join(NODES / 2);
      await stage.untilUp();
      const refused = stage.ec2.record().filter(({ code }) => code === "RequestExpired");
      if (refused.length === 0) throw new Error("nothing was refused");
      const waitedMs = stage.clock.skippedMs() - skippedMs;
      if (waitedMs > REFUSED_CREDENTIALS_MS)
        throw new Error(`nodes waited ${Math.round(waitedMs / 60_000)} minutes for other credentials`);
    },
  },
  {
    name: "8 function processes against EC2's quota",
    options: { entry: { limits: { invocations: 8 } } },
    async play(stage) {
      await eightProcesses(stage);
      // A fifth of what the processes request at once; each has its own bucket, full at first.
      stage.ec2.set({ quotas: { DescribeInstances: { capacity: 4, refillPerSecond: 2 } } });
      await createBurst({})(stage);
      const throttled = stage.ec2.record().filter(({ code }) => code === "RequestLimitExceeded").length;
      if (throttled > MOST_THROTTLED) throw new Error(`${throttled} calls were throttled`);
    },
  },
];

const HIDDEN = { visibleAfterMs: "until-revealed" } as const;

const PROCESSES = 8;
const MOST_THROTTLED = 100;

/** Invocations go to them in turn, as a platform spreads them over warm environments. */
async function eightProcesses(stage: Stage): Promise<void> {
  const started = await Promise.all(Array.from({ length: PROCESSES }, () => stage.startFunctionProcess()));
  let turn = 0;
  stage.platform.runWith((name, payload) => {
    turn = (turn + 1) % PROCESSES;
    const process = started[turn];
    return process === undefined ? Promise.reject(new Error("no process")) : process.run(name, payload);
  });
}

/** So many calls about instances fail; at least `least` of them must be met, by default all. */
function failing(name: string, failure: Omit<Failure, "action">, least = failure.count): Row {
  return {
    name,
    play: createBurst({
      before: ({ ec2 }) => ec2.set({ failures: [{ action: "DescribeInstances", ...failure }] }),
      after({ ec2 }) {
        const codes = [failure.kind, failure.code ?? "InternalError"];
        const met = ec2.record().filter(({ code }) => codes.includes(code)).length;
        if (met < least) throw new Error(`${met} of ${failure.count} failures were met`);
      },
    }),
  };
}
