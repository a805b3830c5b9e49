select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal
from (
  select {{prefix "c_phone" 2}} as cntrycode, c_acctbal
  from customer
  where {{prefix "c_phone" 2}} in ({{template "codes"}})
    and c_acctbal > (
      select avg(c_acctbal) from customer
      where c_acctbal > 0.00
        and {{prefix "c_phone" 2}} in ({{template "codes"}}))
    and not exists (
      select * from orders
      where o_custkey = c_custkey)) custsale
group by cntrycode
order by cntrycode
{{- define "codes"}}'{{p 1}}', '{{p 2}}', '{{p 3}}', '{{p 4}}', '{{p 5}}', '{{p 6}}', '{{p 7}}'{{end}}
