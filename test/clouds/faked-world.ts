import type { Cloud } from "#clouds/cloud.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";

/** A fake of a cloud's API, and clouds on it that count their waits without waiting. */
export interface FakedWorld<Fake, Traits> {
  readonly fake: Fake;
  /** The waits in milliseconds; each moves the clock. */
  readonly slept: number[];
  /** Moves the clock of the clouds. */
  pass(ms: number): void;
  /** Creates another cloud on the fake, with these traits in place of the defaults. */
  cloud(traits?: Traits, options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

export function createFakedWorld<Fake extends { close(): Promise<void> }, Traits>(
  fake: Fake,
  make: (traits: Traits | undefined, options: HttpCloudOptions) => Cloud,
): FakedWorld<Fake, Traits> {
  const slept: number[] = [];
  const clouds: Cloud[] = [];
  let now = 0;
  const pass = (ms: number): void => {
    now += ms;
  };
  const clock: HttpCloudOptions = {
    sleep: async (delayMs) => {
      slept.push(delayMs);
      pass(delayMs);
    },
    now: () => now,
    random: () => 0.5,
  };
  return {
    fake,
    slept,
    pass,
    cloud(traits, options) {
      const made = make(traits, { ...clock, ...options });
      clouds.push(made);
      return made;
    },
    async close() {
      await Promise.all(clouds.map((cloud) => cloud.close()));
      await fake.close();
    },
  };
}
