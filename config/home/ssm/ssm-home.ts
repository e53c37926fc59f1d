import type { ClustersFile } from "#config/clusters-file.ts";
import { type AllowedSecrets, NO_SECRETS } from "#config/home/entry-references.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { entriesOfParameters } from "#config/home/ssm/entries-of-parameters.ts";
import { followParameters } from "#config/home/ssm/follow-parameters.ts";
import { listParameters } from "#config/home/ssm/list-parameters.ts";
import type { ParameterStore } from "#config/home/ssm/parameter-store.ts";
import { parametersByName } from "#config/home/ssm/parameters-by-name.ts";
import { noParameters, parametersError } from "#config/home/ssm/parameters-error.ts";
import { createOwnershipGuard } from "#config/ownership.ts";

/** What the home touches. */
export interface SsmHomeOptions {
  /** None but those below the home's own path without it. */
  readonly allowedSecrets?: AllowedSecrets;
  /** Made on first use. */
  readonly store?: () => Promise<ParameterStore>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** The path of a home of parameters as it is written, `ssm:/serverless-ccm/clusters/`, with `/` at its end; undefined where it is none. */
export function pathOfParameters(reference: string): string | undefined {
  const path = /^ssm:((?:\/[\w.-]+)+)\/?$/.exec(reference)?.[1];
  return path === undefined || /^\/(aws|ssm)/i.test(path) ? undefined : `${path}/`;
}

/** The parameters of SSM right under a path as a home: each is one entry, and has the cluster's name. */
export function ssmHome(path: string, options: SsmHomeOptions = {}): ClusterHome {
  const home = `ssm:${path}`;
  const { allowedSecrets = NO_SECRETS, now = Date.now, random = Math.random } = options;
  let opened: Promise<ParameterStore> | undefined;
  const store = (): Promise<ParameterStore> => {
    opened ??= (options.store ?? openStore)();
    return opened;
  };

  const { hold } = createOwnershipGuard();
  async function read(signal?: AbortSignal): Promise<ClustersFile> {
    const parameters = await store()
      .then((opened) => listParameters(opened, path, signal))
      .catch((error: unknown) => {
        throw parametersError(home, "ssm:GetParametersByPath", error);
      });
    if (parameters.length === 0) throw noParameters(home);
    return entriesOfParameters(path, parameters, allowedSecrets);
  }

  return {
    kind: "ssm",
    name: home,
    read: async (signal) => hold(await read(signal)),
    follow: (following) =>
      followParameters({ ...following, read, onContent: (content) => following.onContent(hold(content)) }),
    byName() {
      const guard = createOwnershipGuard();
      const readAll = async () => guard.hold(await read());
      return parametersByName({ home, path, allowedSecrets, store, readAll, now, random });
    },
  };
}

async function openStore(): Promise<ParameterStore> {
  const { createParameterStore } = await import("#clouds/aws/parameter-store.ts");
  return createParameterStore();
}
