import { createKeepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";

loadBalancerConformance("keepalived", createKeepalivedWorld, {
  cannotPlay: [
    { row: "targets", because: "keepalived finds endpoints by itself" },
    { row: "source-ranges", because: "keepalived has no source ranges" },
    { row: "udp", because: "an entry says nothing of ports" },
    { row: "machines", because: "keepalived finds endpoints by itself" },
    { row: "clusters", because: "all it has is in the cluster itself" },
    { row: "taken-names", because: "an entry is known by its Service's uid" },
  ],
});
