import type { DescribedLoadBalancer } from "#clouds/described.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Puts an observation of the capability `loadBalancers` into words; undefined for a cloud that has none. Apart from the kinds, as it is
 * for the command line: no function is to carry it.
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
