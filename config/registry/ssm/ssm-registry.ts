import type { ClustersFile } from "#config/clusters-file.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { type AllowedSecrets, NO_SECRETS } from "#config/registry/entry-references.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { buildEntries } from "#config/registry/ssm/build-entries.ts";
import { followParameters } from "#config/registry/ssm/follow-parameters.ts";
import { listParameters } from "#config/registry/ssm/list-parameters.ts";
import { createParameterReader } from "#config/registry/ssm/parameter-reader.ts";
import type { ParameterStore } from "#config/registry/ssm/parameter-store.ts";
import { createNoParametersError, toParametersError } from "#config/registry/ssm/parameters-error.ts";

/** The dependencies of the registry. */
export interface SsmRegistryOptions {
  /** Without it, only secrets below the registry's own path. */
  readonly allowedSecrets?: AllowedSecrets;
  /** Created on first use. */
  readonly store?: () => Promise<ParameterStore>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/**
 * Parses the path of an SSM registry, `ssm:/serverless-ccm/clusters/`, with `/` at its end. Undefined for
 * other references.
 */
export function parseSsmPath(reference: string): string | undefined {
  const path = /^ssm:((?:\/[\w.-]+)+)\/?$/.exec(reference)?.[1];
  return path === undefined || /^\/(aws|ssm)/i.test(path) ? undefined : `${path}/`;
}

/**
 * Creates a registry from the SSM parameters directly under a path. Each parameter is one entry with the
 * cluster's name.
 */
export function createSsmRegistry(path: string, options: SsmRegistryOptions = {}): ClusterRegistry {
  const registry = `ssm:${path}`;
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
        throw toParametersError(registry, "ssm:GetParametersByPath", error);
      });
    if (parameters.length === 0) throw createNoParametersError(registry);
    return buildEntries(path, parameters, allowedSecrets);
  }

  return {
    kind: "ssm",
    name: registry,
    read: async (signal) => hold(await read(signal)),
    follow: (following) =>
      followParameters({ ...following, read, onContent: (content) => following.onContent(hold(content)) }),
    byName() {
      const guard = createOwnershipGuard();
      const readAll = async () => guard.hold(await read());
      return createParameterReader({ home: registry, path, allowedSecrets, store, readAll, now, random });
    },
  };
}

async function openStore(): Promise<ParameterStore> {
  const { createParameterStore } = await import("#platforms/aws/parameter-store.ts");
  return createParameterStore();
}
