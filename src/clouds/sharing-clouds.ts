import { loadCloud } from "#clouds/providers.ts";

/**
 * Creates a loader for a process that holds the clouds of several clusters. Where a provider can, clusters of
 * one account share reads; the others load as in any process. No function imports this file: a function's
 * environment handles one invocation at a time, so it has nothing to share.
 */
export function createCloudLoader(): typeof loadCloud {
  let aws: ReturnType<typeof importAws> | undefined;
  return async (config, options = {}) => {
    if (config.provider !== "aws") return loadCloud(config, options);
    aws ??= importAws();
    return (await aws)(config, options);
  };
}

async function importAws() {
  const { createSharingLoader } = await import("#clouds/aws/shared-reads/sharing-loader.ts");
  return createSharingLoader();
}
