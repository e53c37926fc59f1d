import { listParameters } from "#config/home/ssm/list-parameters.ts";
import type { Parameter, ParameterStore } from "#config/home/ssm/parameter-store.ts";
import { parametersError } from "#config/home/ssm/parameters-error.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { StopEntry, type StopName } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { StopKind } from "#core/stop.ts";

/** How parameters under a path are changed; apart, as who only reads carries none of it. */
export type ChangeParameters = (home: string, path: string) => StopSwitch["change"];

/** What the switch touches; each is made on first use. */
export interface SsmSwitchOptions {
  readonly store?: () => Promise<Pick<ParameterStore, "list" | "getMany">>;
  /** Without it the switch can be read alone: functions have no need of more, and no right to. */
  readonly change?: ChangeParameters | undefined;
}

/**
 * Parameters of SSM as the switch: one for each thing that is stopped, `deletes` or `writes.CLUSTER`, right under a path that ends with
 * `/`. SSM knows no conditional writes, and so two operators write two parameters. That there is one is what counts: whatever its value,
 * it stops.
 */
export function ssmSwitch(path: string, options: SsmSwitchOptions = {}): StopSwitch {
  const home = `ssm:${path}`;
  const store = once(options.store ?? openStore);

  async function find(signal: AbortSignal, cluster: string | undefined): Promise<readonly Parameter[]> {
    const opened = await store();
    if (cluster === undefined) return listParameters(opened, path, signal);
    const names = StopKind.options.flatMap((what) => [{ what }, { what, cluster }]);
    return opened.getMany(
      names.map((name) => path + parameterOf(name)),
      signal,
    );
  }

  return {
    name: home,
    async read(signal, cluster) {
      const found = await find(signal, cluster).catch((error: unknown) => {
        const action = cluster === undefined ? "ssm:GetParametersByPath" : "ssm:GetParameters";
        throw new StopSwitchError(
          "Unreadable",
          home,
          `cannot be read: ${wordsOf(home, action, error)}`,
          error,
        );
      });
      return found.map((parameter) => entryOf(home, parameter.name.slice(path.length), parameter.value));
    },
    change: options.change?.(home, path) ?? (() => Promise.reject(readAlone(home))),
  };
}

function readAlone(home: string): StopSwitchError {
  return new StopSwitchError("NotWritten", home, "can only be read here");
}

/** The parameter of one thing that is stopped; names of clusters have no character that those of parameters lack. */
export function parameterOf({ what, cluster }: StopName): string {
  return cluster === undefined ? what : `${what}.${cluster}`;
}

function entryOf(home: string, name: string, value: string): StopEntry {
  const [what, ...rest] = name.split(".");
  const { since, by } = factsOf(value);
  const cluster = rest.length === 0 ? {} : { cluster: rest.join(".") };
  const parsed = StopEntry.safeParse({
    what,
    ...cluster,
    ...StopEntry.pick({ since: true, by: true }).catch({}).parse({ since, by }),
  });
  if (parsed.success) return parsed.data;
  throw new StopSwitchError(
    "Malformed",
    home,
    `has a parameter ${name.slice(0, 80)} that stops nothing; those that do are named writes, deletes, writes.CLUSTER or deletes.CLUSTER: remove it`,
  );
}

function factsOf(value: string): { readonly since?: unknown; readonly by?: unknown } {
  try {
    const facts: unknown = JSON.parse(value);
    return typeof facts === "object" && facts !== null ? facts : {};
  } catch {
    return {};
  }
}

/** What SSM said to an action, and what to do. */
export function wordsOf(home: string, action: string, error: unknown): string {
  return parametersError(home, action, error)
    .faults.map(({ message }) => message)
    .join("; ");
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function openStore(): Promise<ParameterStore> {
  return (await import("#clouds/aws/parameter-store.ts")).createParameterStore();
}
