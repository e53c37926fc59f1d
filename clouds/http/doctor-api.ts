import { type Api, createApi, type Sign } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import type { ReadCloudError } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpClient, type HttpLimits } from "#clouds/http/client.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { sleepFor } from "#clouds/sleep.ts";

/** Who is asked, and how. */
export interface DoctorApiParts extends Pick<HttpLimits, "authority"> {
  readonly url: string;
  readonly sign: Sign;
  readonly readError: ReadCloudError;
}

/** An API as doctor asks it. */
export interface DoctorApi {
  readonly api: Api;
  /** The body of a GET. */
  get(path: string, template: string, signal: AbortSignal): Promise<Outcome<unknown>>;
  /** Milliseconds by which the server's clock is ahead, by its last answer; undefined where none said it. */
  clockAheadMs(): number | undefined;
  close(): void;
}

/** What doctor asks is not much, and of nobody's share. */
const QUOTA = { burst: 50, refillPerSecond: 10 };

export function createDoctorApi({ url, sign, readError, authority }: DoctorApiParts): DoctorApi {
  let aheadMs: number | undefined;
  const client = createHttpClient(url, { authority });
  const watched: HttpClient = {
    async send(request, signal) {
      const answer = await client.send(request, signal);
      aheadMs = aheadBy(Date.parse(answer.headers["date"] ?? "") - Date.now()) ?? aheadMs;
      return answer;
    },
    close: client.close,
  };
  const now = () => performance.now();
  const api = createApi({
    client: watched,
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

/** Dates of HTTP have whole seconds: what is less than one behind is none. */
function aheadBy(ms: number): number | undefined {
  if (Number.isNaN(ms)) return undefined;
  return ms < 0 && ms > -1_000 ? 0 : ms;
}
