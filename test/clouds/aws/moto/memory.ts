import { createHash } from "node:crypto";
import { type Call, nameOf, type ServiceName } from "./call.ts";
import { isChange } from "./failures.ts";

/**
 * Answers of moto by what was changed before they were given: moto takes ten times as long to say the same again. Two histories of
 * the same changes, with the same answers, are one.
 */
export interface Memory {
  /** What was answered to the same read after the same changes, or what `ask` answers now. */
  recall(call: Call, ask: () => Promise<Remembered>): Promise<Remembered>;
  /** Saves where it is in history; what it returns goes back there. */
  save(): () => void;
  /** Forgets everything. */
  forget(): void;
}

/** An answer as it came. */
export interface Remembered {
  readonly status: number;
  readonly text: string;
}

/** What a read tells of, so that a change of something else leaves it as it was. */
type Topic = ServiceName | "ec2 groups";

const TOPICS: readonly Topic[] = ["ec2", "ec2 groups", "elb", "elbv2", "sts"];

/** Of so many answers the memory begins anew. */
const MAX_ANSWERS = 20_000;

export function createMemory(): Memory {
  const known = new Map<string, Remembered>();
  /** Stands for all changes so far. */
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
        // What is read while it lands may be as it was or as it will be.
        for (const topic of topics) histories.set(topic, `landing ${unknown}`);
        const answer = await ask();
        for (const [index, topic] of topics.entries())
          histories.set(topic, hashOf(`${before[index]} ${asked} ${withoutTimes(answer.text)}`));
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

/** Asks each time. */
export const NO_MEMORY: Memory = { recall: (_, ask) => ask(), save: () => () => {}, forget: () => {} };

function textOf(call: Call): string {
  return `${nameOf(call)} ${call.region} ${JSON.stringify(Object.entries(call.form).toSorted())}`;
}

function readBy({ service, operation }: Call): Topic {
  return service === "ec2" && operation.startsWith("DescribeSecurityGroup") ? "ec2 groups" : service;
}

/** Load balancers' networks and instances stay as they are; whatever is not known to leave something as it is changes all. */
function changedBy({ service, operation }: Call): readonly Topic[] {
  if (service === "elb" || service === "elbv2") return [service];
  return /SecurityGroup/.test(operation) && !operation.startsWith("Modify") ? ["ec2 groups"] : TOPICS;
}

/** An answer's text without what differs each time: when something was made is not part of what it is. */
export function withoutTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?|<[Rr]equestI[dD]>[^<]*/g, "");
}

/** Stands for a text. */
export function hashOf(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}
