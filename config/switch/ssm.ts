import { listParameters } from "#config/home/ssm/list-parameters.ts";
import type { Parameter, ParameterStore } from "#config/home/ssm/parameter-store.ts";
import { parametersError } from "#config/home/ssm/parameters-error.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { StopEntry, type StopName } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { StopKind } from "#core/stop.ts";

/** The calls of SSM that change parameters; they reject with the platform's own error, whose `name` is its code. */
export interface ParameterWriter {
  put(name: string, value: string, replaces: boolean): Promise<void>;
  remove(name: string): Promise<void>;
}

/** What the switch touches; each is made on first use. */
export interface SsmSwitchOptions {
  readonly store?: () => Promise<Pick<ParameterStore, "list" | "getMany">>;
  readonly writer?: () => Promise<ParameterWriter>;
}

/**
 * Parameters of SSM as the switch: one for each thing that is stopped, `deletes` or `writes.CLUSTER`, right under a path that ends with
 * `/`. SSM knows no conditional writes, and so two operators write two parameters. That there is one is what counts: whatever its value,
 * it stops.
 */
export function ssmSwitch(path: string, options: SsmSwitchOptions = {}): StopSwitch {
  const home = `ssm:${path}`;
  const store = once(options.store ?? openStore);
  const writer = once(options.writer ?? openWriter);

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
    async change(change) {
      const name = path + parameterOf(change.kind === "stop" ? change.entry : change.name);
      const opened = await writer();
      try {
        if (change.kind === "resume") await opened.remove(name);
        else {
          const { since, by } = change.entry;
          await opened.put(name, JSON.stringify({ version: 1, since, by }), change.anew === true);
        }
      } catch (error) {
        // It says so already.
        const code = error instanceof Error ? error.name : "";
        if (code === (change.kind === "stop" ? "ParameterAlreadyExists" : "ParameterNotFound")) return;
        const action = change.kind === "stop" ? "ssm:PutParameter" : "ssm:DeleteParameter";
        throw new StopSwitchError(
          "NotWritten",
          home,
          `was not changed: ${wordsOf(home, action, error)}`,
          error,
        );
      }
    },
  };
}

/** The parameter of one thing that is stopped; names of clusters have no character that those of parameters lack. */
function parameterOf({ what, cluster }: StopName): string {
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

function wordsOf(home: string, action: string, error: unknown): string {
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

async function openWriter(): Promise<ParameterWriter> {
  return (await import("#clouds/aws/write-parameters.ts")).createParameterWriter();
}
