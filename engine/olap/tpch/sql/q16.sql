select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt
from partsupp, part
where p_partkey = ps_partkey
  and p_brand <> '{{p 1}}'
  and p_type not like '{{p 2}}%'
  and p_size in ({{p 3}}, {{p 4}}, {{p 5}}, {{p 6}}, {{p 7}}, {{p 8}}, {{p 9}}, {{p 10}})
  and ps_suppkey not in (
    select s_suppkey from supplier
    where s_comment like '%Customer%Complaints%')
group by p_brand, p_type, p_size
order by supplier_cnt desc, p_brand, p_type, p_size
