import { createKubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";

loadBalancerConformance("kube-vip", createKubeVipWorld, {
  cannotPlay: [
    { row: "address", because: "the status is kube-vip's own" },
    { row: "targets", because: "kube-vip finds endpoints by itself" },
    { row: "source-ranges", because: "kube-vip has no source ranges" },
    { row: "udp", because: "what is written says nothing of ports" },
    { row: "taken-names", because: "what is written is on the Service itself" },
    { row: "other-settings", because: "they are kube-vip's own annotations" },
    { row: "machines", because: "kube-vip finds endpoints by itself" },
    { row: "clusters", because: "all it has is in the cluster itself" },
    { row: "orphans", because: "nothing is left of a deleted Service" },
  ],
});
