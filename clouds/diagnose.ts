import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import type { CloudConfig } from "#clouds/providers.ts";

/**
 * Returns the checks of a cloud's configuration; undefined for a cloud without checks. It is separate from
 * the providers because only the command line needs it, not the functions. Rejects if files in the
 * configuration are unusable.
 */
export async function diagnose(
  config: CloudConfig,
  options: LoadCloudOptions,
): Promise<Diagnosis | undefined> {
  switch (config.provider) {
    case "aws":
      return (await import("#clouds/aws/diagnose.ts")).diagnoseAws(config, options);
    case "digitalocean":
      return (await import("#clouds/digitalocean/diagnose.ts")).diagnoseDigitalOcean(config);
    case "hcloud":
      return (await import("#clouds/hcloud/diagnose.ts")).diagnoseHcloud(config, options);
    case "rancher":
      return (await import("#clouds/rancher/diagnose.ts")).diagnoseRancher(config);
    case "keepalived":
    case "kubevip":
    case "memory":
    case "no-cloud":
      return undefined;
    case "oci":
      return (await import("#clouds/oci/diagnose.ts")).diagnoseOci(config, options);
    case "openstack":
      return (await import("#clouds/openstack/diagnose.ts")).diagnoseOpenStack(config, options);
  }
}
