import { checkExchange } from "./check-exchange.ts";
import { checkValue } from "./check-value.ts";
import { type Exchange, identifyExchange } from "./exchange.ts";
import { DEVIATIONS, MOTO_VIOLATIONS } from "./known-violations.ts";
import { loadModel, type ServiceName } from "./service-model.ts";
import { formatViolationKey, type Side, type Violation } from "./violation.ts";

/** The `server` header of moto's answers behind the proxy that mends them. */
export const MENDED_MOTO = "mended moto";

interface State {
  /** Botocore's data folder; undefined without models, and outside of tests. */
  dataFolder: string | undefined;
  /** Exchanges that are not checked yet, and their bytes. */
  queue: Exchange[];
  queuedBytes: number;
  /** By key, so that a thousand equal violations are one. */
  violations: Map<string, Violation>;
  /** Keys of violations that the current test provokes. */
  expected: Set<string>;
  /** Calls since the start that no model was there to check. */
  unchecked: number;
}

/** Tests that share a worker share the state. */
const STATE: State = {
  dataFolder: undefined,
  queue: [],
  queuedBytes: 0,
  violations: new Map(),
  expected: new Set(),
  unchecked: 0,
};

/** The queue is checked when it holds so much: until then a test is not delayed by its checks. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;

/** Starts to check calls, with the models in a folder; without one it only counts calls. */
export function startChecks(dataFolder: string | undefined): void {
  STATE.dataFolder = dataFolder;
  STATE.unchecked = 0;
  STATE.violations.clear();
}

/** Returns the number of calls that no model was there to check. */
export function countUnchecked(): number {
  return STATE.unchecked;
}

/** Queues an exchange for its check. */
export function addExchange(exchange: Exchange): void {
  if (STATE.dataFolder === undefined) {
    if (identifyExchange(exchange) !== undefined) STATE.unchecked += 1;
    return;
  }
  STATE.queue.push(exchange);
  STATE.queuedBytes += exchange.requestBody.length + exchange.answerBody.length;
  if (STATE.queuedBytes > MAX_QUEUED_BYTES) checkQueue();
}

/**
 * Says which violations the current test provokes, by their keys such as `sts:AssumeRole request DurationSeconds
 * range`: for tests of what an emulator rejects.
 */
export function expectViolations(...keys: readonly string[]): void {
  for (const key of keys) STATE.expected.add(key);
}

/** Returns the unexpected violations since the last call, each once, and the keys of expected ones that are missing. */
export function takeViolations(): {
  readonly violations: readonly Violation[];
  readonly missing: readonly string[];
} {
  checkQueue();
  const { violations, expected, dataFolder } = STATE;
  STATE.violations = new Map();
  STATE.expected = new Set();
  return {
    violations: [...violations].filter(([key]) => !expected.has(key)).map(([, each]) => each),
    missing: dataFolder === undefined ? [] : [...expected].filter((key) => !violations.has(key)),
  };
}

/** Checks one side of a call in the form of the SDK; `name` is such as `elbv2:CreateListener`. */
export function checkCall(name: string, side: Side, value: object): void {
  const { dataFolder } = STATE;
  if (dataFolder === undefined) {
    STATE.unchecked += 1;
    return;
  }
  const [service, operation = ""] = name.split(":") as [ServiceName, string];
  const model = loadModel(dataFolder, service);
  const found = model.operations[operation];
  const report = (path: string, rule: Violation["rule"], detail: string): void =>
    add({ operation: name, side, path, rule, detail });
  if (found === undefined) {
    report("", "unknown", "no such operation");
    return;
  }
  const reference = side === "request" ? found.input : found.output;
  const members = Object.entries(value).filter(([key]) => key !== "$metadata");
  if (reference !== undefined) checkValue(model, reference, Object.fromEntries(members), "sdk", report);
  else for (const [key] of members) report(key, "unknown", `no such member of the ${side}`);
}

function checkQueue(): void {
  const { dataFolder, queue } = STATE;
  STATE.queue = [];
  STATE.queuedBytes = 0;
  if (dataFolder === undefined) return;
  for (const exchange of queue) {
    const isMoto = isFromMoto(exchange);
    for (const each of checkExchange(dataFolder, exchange))
      if (!isMoto || !Object.hasOwn(MOTO_VIOLATIONS, formatViolationKey(each))) add(each);
  }
}

/** Whether moto answered, or the proxy that mends its answers. */
function isFromMoto({ answerHeaders: { server = "" } }: Exchange): boolean {
  return server.startsWith("Werkzeug/") || server === MENDED_MOTO;
}

function add(violation: Violation): void {
  const key = formatViolationKey(violation);
  if (Object.hasOwn(DEVIATIONS, key)) return;
  if (!STATE.violations.has(key)) STATE.violations.set(key, violation);
}
