import type { DescribedLoadBalancer } from "#clouds/described-load-balancer.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Describes an observation of the capability `loadBalancers` for people; undefined for a cloud without it. It
 * is separate from the providers because only the command line needs it, not the functions.
 */
export async function describeLoadBalancer(
  service: Service,
  state: unknown,
  settings: Settings,
): Promise<DescribedLoadBalancer | undefined> {
  switch (settings.cloud.provider) {
    case "aws":
      return (await import("#clouds/aws/load-balancers/describe.ts")).describeOnAws(service, state, settings);
    case "digitalocean": {
      const { describeOnDigitalOcean } = await import("#clouds/digitalocean/load-balancers/describe.ts");
      return describeOnDigitalOcean(service, state, settings);
    }
    case "keepalived":
      return (await import("#clouds/keepalived/describe.ts")).describeEntry(state);
    case "kubevip":
      return (await import("#clouds/kubevip/describe.ts")).describeAddresses(service, state);
    case "memory":
      return (await import("#clouds/memory/describe-load-balancer.ts")).describeInMemory(state);
    case "oci":
      return (await import("#clouds/oci/load-balancers/describe.ts")).describeOnOci(service, state, settings);
    case "rancher":
      return (await import("#clouds/rancher/cattle/load-balancers/describe.ts")).describeOnCattle(state);
    default:
      return undefined;
  }
}
