import type { Parameter, ParameterStore } from "#config/registry/ssm/parameter-store.ts";
import type { ManualClock } from "#test/kube/follow/manual-clock.ts";

/** Parameters of an account with SSM's default quota, for as many processes as there are. */
export interface ThrottledParameters {
  /** As the SDK of one process sees them: it tries what is throttled again. */
  readonly store: () => ParameterStore;
  readonly values: Map<string, string>;
  /** When each request arrived, tries of throttled ones included. */
  readonly arrivals: readonly number[];
  readonly throttled: () => number;
}

/** GetParameter, GetParameters and GetParametersByPath share it by default. */
const REQUESTS_PER_SECOND = 40;
const LATENCY_MS = 20;
const PAGE = 10;
/** As the store of AWS's SDK tries, with its delays for throttles. */
const ATTEMPTS = 4;
const RETRY_MS = 500;

/** Makes an account; only the clock moves it. */
export function createThrottledParameters(clock: ManualClock, random: () => number): ThrottledParameters {
  const values = new Map<string, string>();
  const arrivals: number[] = [];
  let throttled = 0;
  let tokens = REQUESTS_PER_SECOND;
  let filledMs = clock.now();

  const wait = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  function isAllowed(): boolean {
    const nowMs = clock.now();
    arrivals.push(nowMs);
    tokens = Math.min(REQUESTS_PER_SECOND, tokens + ((nowMs - filledMs) / 1_000) * REQUESTS_PER_SECOND);
    filledMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }

  async function request<Answer>(answer: () => Answer): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      await wait(LATENCY_MS);
      if (isAllowed()) return answer();
      throttled += 1;
      if (attempt === ATTEMPTS)
        throw Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });
      await wait(random() * RETRY_MS * 2 ** (attempt - 1));
    }
  }

  const parameterOf = (name: string): Parameter[] => {
    const value = values.get(name);
    return value === undefined ? [] : [{ name, value, type: "String" }];
  };

  return {
    values,
    arrivals,
    throttled: () => throttled,
    store: () => ({
      list: (path, next) =>
        request(() => {
          const names = [...values.keys()].filter((name) => name.startsWith(path));
          const from = Number(next ?? 0);
          const more = from + PAGE < names.length ? String(from + PAGE) : undefined;
          return { parameters: names.slice(from, from + PAGE).flatMap(parameterOf), next: more };
        }),
      get: (name) => request(() => parameterOf(name)[0]),
      getMany: (names) => request(() => names.flatMap(parameterOf)),
    }),
  };
}
