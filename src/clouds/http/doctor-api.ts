import { type Api, createApi, type Sign } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import type { ApiErrorReader } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpClient, type HttpLimits } from "#clouds/http/client.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { sleepFor } from "#clouds/sleep.ts";

/** The server to check, and how to reach it. */
export interface DoctorApiParts extends Pick<HttpLimits, "authority"> {
  readonly url: string;
  readonly sign: Sign;
  readonly readError: ApiErrorReader;
}

/** An API as `doctor` uses it. */
export interface DoctorApi {
  readonly api: Api;
  /** Sends a GET and returns its body. */
  get(path: string, template: string, signal: AbortSignal): Promise<Outcome<unknown>>;
  /**
   * Milliseconds by which the server's clock is ahead, by its last answer; undefined if no answer had a date.
   */
  clockAheadMs(): number | undefined;
  close(): void;
}

/** `doctor` sends few requests, outside of any share. */
const QUOTA = { burst: 50, refillPerSecond: 10 };

export function createDoctorApi({ url, sign, readError, authority }: DoctorApiParts): DoctorApi {
  let aheadMs: number | undefined;
  const client = createHttpClient(url, { authority });
  const clockReadingClient: HttpClient = {
    async send(request, signal) {
      const answer = await client.send(request, signal);
      aheadMs = computeClockSkew(Date.parse(answer.headers["date"] ?? "") - Date.now()) ?? aheadMs;
      return answer;
    },
    close: client.close,
  };
  const now = () => performance.now();
  const api = createApi({
    client: clockReadingClient,
    sign,
    budget: createBudget(QUOTA, 0, now),
    readError,
    userAgent: "serverless-ccm (doctor)",
    sleep: sleepFor,
    wallClock: Date.now,
    random: Math.random,
  });
  return {
    api,
    get: (path, template, signal) =>
      api.get({ operation: template, template, path }, { signal, meter: createMeter() }),
    clockAheadMs: () => aheadMs,
    close: client.close,
  };
}

/** HTTP dates have whole seconds: a difference below one second counts as zero. */
function computeClockSkew(ms: number): number | undefined {
  if (Number.isNaN(ms)) return undefined;
  return ms < 0 && ms > -1_000 ? 0 : ms;
}
