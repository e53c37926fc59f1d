import { createHash } from "node:crypto";
import { type Call, formatCallName, type ServiceName } from "./call.ts";
import { isChange } from "./failures.ts";

/**
 * A cache of moto's answers, by the changes before them: moto takes ten times as long to answer again. Two
 * histories with the same changes and answers are equal.
 */
export interface Memory {
  /** Returns the answer to the same read after the same changes, or what `ask` returns now. */
  recall(call: Call, ask: () => Promise<Remembered>): Promise<Remembered>;
  /** Saves the position in the history; the returned function goes back there. */
  save(): () => void;
  /** Forgets everything. */
  forget(): void;
}

/** An answer as it came. */
export interface Remembered {
  readonly status: number;
  readonly text: string;
}

/** What a read is about, so that a change of another topic keeps its answers. */
type Topic = ServiceName | "ec2 groups";

const TOPICS: readonly Topic[] = ["ec2", "ec2 groups", "elb", "elbv2", "sts"];

/** The cache is cleared when it holds so many answers. */
const MAX_ANSWERS = 20_000;

export function createMemory(): Memory {
  const known = new Map<string, Remembered>();
  /** A value for all changes so far. */
  const histories = new Map<Topic, string>();
  let unknown = 0;
  let resets = 0;

  const historyOf = (topic: Topic): string => histories.get(topic) ?? `reset ${resets}`;

  return {
    async recall(call, ask) {
      const asked = textOf(call);
      if (isChange(call)) {
        const topics = changedBy(call);
        const before = topics.map(historyOf);
        unknown += 1;
        // A read while a change lands may return the state before or after it.
        for (const topic of topics) histories.set(topic, `landing ${unknown}`);
        const answer = await ask();
        for (const [index, topic] of topics.entries())
          histories.set(topic, hashText(`${before[index]} ${asked} ${removeTimes(answer.text)}`));
        return answer;
      }
      const topic = readBy(call);
      const history = historyOf(topic);
      const key = `${history} ${asked}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const answer = await ask();
      if (known.size >= MAX_ANSWERS) known.clear();
      if (answer.status < 300 && historyOf(topic) === history) known.set(key, answer);
      return answer;
    },
    save: () => {
      const saved = [...histories];
      return () => {
        histories.clear();
        for (const [topic, history] of saved) histories.set(topic, history);
      };
    },
    forget: () => {
      resets += 1;
      known.clear();
      histories.clear();
    },
  };
}

/** A cache that always asks. */
export const NO_MEMORY: Memory = { recall: (_, ask) => ask(), save: () => () => {}, forget: () => {} };

function textOf(call: Call): string {
  return `${formatCallName(call)} ${call.region} ${JSON.stringify(Object.entries(call.form).toSorted())}`;
}

function readBy({ service, operation }: Call): Topic {
  return service === "ec2" && operation.startsWith("DescribeSecurityGroup") ? "ec2 groups" : service;
}

/** Load balancers' networks and instances keep their answers; an unknown call changes all topics. */
function changedBy({ service, operation }: Call): readonly Topic[] {
  if (service === "elb" || service === "elbv2") return [service];
  return /SecurityGroup/.test(operation) && !operation.startsWith("Modify") ? ["ec2 groups"] : TOPICS;
}

/** Returns an answer's text without creation times, which differ each time. */
export function removeTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?|<[Rr]equestI[dD]>[^<]*/g, "");
}

/** Returns a hash of a text. */
export function hashText(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}
